"""The C++ tree keeps its shape: every family of kernels has the same files, and no folder is a hallway."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from acuity import _native

NATIVE = Path(__file__).resolve().parents[2] / "native"
SHAPE = {"table.h", "plain.cpp", "simd.cpp", "module.cpp", "check.cpp"}
MOST_FILES = 20

# What core/cpu.cpp asks of a machine, in the words of /proc/cpuinfo. Linux lists a set only where it
# saves the registers.
SSE4 = {"sse4_2", "ssse3", "popcnt"}
AVX2 = SSE4 | {"avx", "avx2", "bmi1", "bmi2", "fma", "abm", "movbe", "f16c"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
FLAGS = {
    "sse4": SSE4,
    "avx2": AVX2,
    "avx2vnni": AVX2 | {"avx_vnni"},
    "avx512": AVX512,
    "avx512vnni": AVX512 | {"avx512_vnni"},
}


def test_families_are_the_folders_with_a_table() -> None:
    listed = re.findall(r"^    X\(\w+, (\w+)\)", (NATIVE / "core" / "families.h").read_text(), re.MULTILINE)
    assert listed == sorted(table.parent.name for table in NATIVE.glob("*/table.h"))
    assert {"vif", "adm", "motion"} <= set(listed)


@pytest.mark.parametrize(
    "folder", sorted(table.parent for table in NATIVE.glob("*/table.h")), ids=lambda f: f.name
)
def test_a_family_has_the_one_shape(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} >= SHAPE
    assert f"bind_{folder.name}(" in (folder / "module.cpp").read_text()
    assert f"check_{folder.name}(" in (folder / "check.cpp").read_text()


def test_no_folder_is_a_hallway() -> None:
    files = [file for file in NATIVE.rglob("*") if file.is_file()]
    counts = {
        folder: sum(file.parent == folder for file in files) for folder in {file.parent for file in files}
    }
    assert {folder.name: count for folder, count in counts.items() if count > MOST_FILES} == {}
    assert counts[NATIVE] == 1  # module.cpp


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one instruction set")
def test_a_set_runs_where_processor_and_kernel_have_it() -> None:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    here = set(next(line for line in lines if line.startswith("flags")).split())
    runs = dict(_native.instruction_sets())
    assert runs == {name: flags <= here for name, flags in reversed(FLAGS.items())} | {"plain": True}
