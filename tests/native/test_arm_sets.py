"""ARM's instruction sets, under QEMU: a processor says which it has, and each gives what plain code gives."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "build" / "arm" / "native_check"


@pytest.mark.parametrize(("processor", "sets"), [("cortex-a57", 2), ("neoverse-n1", 3)], ids=["A57", "N1"])
def test_a_processor_runs_the_sets_that_it_has(processor: str, sets: int) -> None:
    assert compared("vif_log2", processor, "--pixels", "1") == sets


# All sizes take minutes in emulation. 10,000 pixels are enough for a strip of columns and a narrow one.
@pytest.mark.parametrize(("kernel", "pixels"), [("vif_statistic", 10000), ("squared_error", 1200)])
def test_every_set_is_exact(kernel: str, pixels: int) -> None:
    assert compared(kernel, "max", "--rounds", "0", "--pixels", str(pixels)) > 0


def compared(kernel: str, processor: str, *more: str) -> int:
    """How many comparisons with the plain table a kernel had; none of them may have failed."""
    emulator = shutil.which("qemu-aarch64")
    if emulator is None or not CHECK.exists():
        pytest.skip("this wants qemu-aarch64 (Debian's qemu-user) and build/arm/native_check (make arm)")
    command = [emulator, "-cpu", processor, str(CHECK), "--kernel", kernel, *more]
    ran = subprocess.run(command, capture_output=True, text=True)
    counts = re.fullmatch(r"(\d+) comparisons, 0 failed\n", ran.stdout)
    assert counts is not None, ran.stdout + ran.stderr
    return int(counts[1])
