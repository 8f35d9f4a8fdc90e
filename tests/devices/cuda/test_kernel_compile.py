"""NVRTC: what it is asked for, what its failures say, and the real one where CuPy is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from acuity.devices.cuda.compiler.build import kernel_names, kernel_source, single_kernel
from acuity.devices.cuda.compiler.compile import NvrtcCompiler, target_for
from acuity.devices.cuda.hardware.bindings import load_bindings
from acuity.devices.cuda.table import TWINS
from acuity.errors import BackendError
from fake_cuda import FakeNvrtc

KNOWN = (75, 80, 86, 89, 90, 100, 120)


@pytest.mark.parametrize(
    ("architecture", "target"),
    [
        ("sm_75", "sm_75"),
        ("sm_90", "sm_90"),
        ("sm_87", "sm_86"),  # code for 8.6 runs on 8.7
        ("sm_103", "sm_100"),
        ("sm_121", "sm_120"),
        ("sm_130", "compute_120"),  # the driver compiles it
    ],
)
def test_targets(architecture: str, target: str) -> None:
    assert target_for(architecture, KNOWN) == target


def test_a_card_that_is_too_old() -> None:
    with pytest.raises(BackendError, match=r"^the card's architecture is sm_61, and this CUDA needs sm_75"):
        target_for("sm_61", KNOWN)


def test_a_program_is_compiled_for_its_card() -> None:
    nvrtc = FakeNvrtc()
    compiler = NvrtcCompiler(lambda: nvrtc)
    assert compiler.compile("probe", kernel_source("probe"), "sm_90").startswith(b"\x7fELF")
    assert compiler.compile("probe", kernel_source("probe"), "sm_130").startswith(b".version")
    assert nvrtc.compiled == ["probe.cu sm_90", "probe.cu compute_120"]


def test_an_error_of_the_compiler_is_one_sentence() -> None:
    nvrtc = FakeNvrtc()
    nvrtc.error = "probe.cu(3): error: expected a ';'\n\n1 error detected\n" + "x" * 1000
    with pytest.raises(BackendError) as caught:
        NvrtcCompiler(lambda: nvrtc).compile("probe", "", "sm_90")
    text = str(caught.value)
    assert text.startswith(
        "the kernel 'probe' can't be compiled for sm_90 (probe.cu(3): error: expected a ';'"
    )
    assert text.endswith("), or pass backend='cpu'")
    assert "\n" not in text
    assert len(text) < 500


def test_a_compiler_that_is_not_there() -> None:
    def load() -> Any:
        raise RuntimeError("CuPy failed to load libnvrtc.so.13: cannot open shared object file\nmore lines")

    with pytest.raises(BackendError, match=r"^NVRTC.* can't be loaded \(CuPy failed .*file\): pip install"):
        NvrtcCompiler(load).compile("probe", "", "sm_90")


def test_the_identity_comes_from_the_packages_and_else_from_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    assert NvrtcCompiler(FakeNvrtc).identity == "nvrtc 13.4"
    for name in ("nvidia_cuda_nvrtc-13.4.92", "nvidia_cuda_nvrtc_cu12-12.9", "nvidia_cuda_runtime-13.4"):
        (tmp_path / f"{name}.dist-info").mkdir()
    packages = "nvidia_cuda_nvrtc-13.4.92 nvidia_cuda_nvrtc_cu12-12.9"
    assert NvrtcCompiler(lambda: pytest.fail("loaded")).identity == packages


# A CuPy whose compiler makes the folder of its cache when it is first used, as CuPy 14's does.
CUPY = {
    "__init__.py": "",
    "cuda/__init__.py": "",
    "cuda/api/__init__.py": "",
    "cuda/api/runtime.py": "is_hip = False\nclass CUDARuntimeError(Exception): pass\n",
    "cuda/libs/__init__.py": "",
    "cuda/libs/nvrtc.py": (
        "import os\nmade = []\ndef getVersion():\n    if not made:\n"
        "        made.append(os.environ.get('CUPY_CACHE_DIR', os.path.expanduser('~/.cupy/kernel_cache')))\n"
        "        os.makedirs(made[0], exist_ok=True)\n    return 13, 4\n"
    ),
}
ASK = """
import json, os
from acuity.devices.cuda.hardware.bindings import load_bindings
nvrtc = load_bindings().nvrtc()
folder, after = nvrtc.made[0], os.environ.get("CUPY_CACHE_DIR")
print(json.dumps([nvrtc.getVersion(), folder, os.path.isdir(folder), after]))
"""


@pytest.mark.parametrize("given", [None, "plain/cache", "folder"])
@pytest.mark.parametrize("home", ["plain", "home"])
def test_a_home_in_which_cupy_can_make_no_folder(tmp_path: Path, home: str, given: str | None) -> None:
    for name, text in CUPY.items():
        path = tmp_path / "site" / "cupy_backends" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "plain").write_text("a file")
    (tmp_path / "home").mkdir()
    said = None if given is None else str(tmp_path / given)
    environment = {name: value for name, value in os.environ.items() if name != "CUPY_CACHE_DIR"}
    environment |= {
        "HOME": str(tmp_path / home),
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path]),
    }
    environment |= {} if said is None else {"CUPY_CACHE_DIR": said}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True
    )
    version, folder, is_there, after = json.loads(done.stdout)
    assert (version, after) == ([13, 4], said)
    usual = said or str(tmp_path / home / ".cupy" / "kernel_cache")
    assert is_there == (folder == usual) == ("plain" not in usual)


needs_cupy = pytest.mark.skipif(find_spec("cupy_backends") is None, reason="CuPy, an extra, is missing")


PROGRAMS = sorted({entry.program for entry in TWINS.values()} | {"decoded", "probe", "samples"})
KERNELS = [(program, name) for program in PROGRAMS for name in kernel_names(program)]


@pytest.mark.parametrize(("program", "name"), KERNELS)
def test_a_kernel_alone(program: str, name: str) -> None:
    whole, alone = kernel_source(program), single_kernel(program, name)
    assert alone.count('extern "C" __global__') == 1
    assert alone.count("\n") == whole.count("\n")
    assert alone.count("{") == alone.count("}")
    heads = [re.search(rf"\b{name}\(", text) for text in (whole, alone)]
    lines = [
        text.count("\n", 0, head.start()) for text, head in zip((whole, alone), heads, strict=True) if head
    ]
    assert len(lines) == 2
    assert lines[0] == lines[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_function_without_a_name_takes_any_type(program: str) -> None:
    """NVRTC of CUDA 13.0 takes such a one, in a function that no kernel uses, for a function of the host."""
    assert not re.findall(r"\]\([^()]*\bauto\b[^()]*\)", kernel_source(program))


@needs_cupy
@pytest.mark.parametrize(("program", "name"), KERNELS)
def test_nvrtc_compiles_every_kernel(program: str, name: str) -> None:
    code = NvrtcCompiler(load_bindings().nvrtc).compile(name, single_kernel(program, name), "sm_90")
    assert code.startswith(b"\x7fELF")
    assert name.encode() in code


@needs_cupy
def test_what_nvrtc_refuses() -> None:
    with pytest.raises(BackendError, match=r"'broken' can't be compiled for sm_90 \(broken.cu\(1\): error"):
        NvrtcCompiler(load_bindings().nvrtc).compile("broken", "int main( {", "sm_90")
