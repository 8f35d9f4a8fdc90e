"""Kernels that run on the CPU, made by the compiler of this machine: see emulator.h."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from acuity.devices.cuda.compiler.build import kernel_names, kernel_source

HEADER = Path(__file__).with_name("emulator.h")
COMPILER = shutil.which("g++") or shutil.which("c++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed here")
# GCC 12 loses roundings to single precision when it vectorises straight-line code.
_EXACT = ["-ffp-contract=off", "-fwrapv", "-fno-tree-slp-vectorize"]
# Fortified, as some distributions have it, longjmp refuses to go from one fiber's stack to another's.
_FLAGS = ["-std=c++20", "-O2", "-U_FORTIFY_SOURCE", *_EXACT, "-fPIC", "-shared", "-w"]
_EMULATING = threading.Lock()  # the emulator has one block at a time


@cache
def compiled(program: str) -> ctypes.CDLL:
    launchers = "\n".join(
        f'extern "C" void emulate_{name}(const unsigned* grid, const unsigned* block, void** arguments) '
        f"{{ emulator::launch({name}, grid, block, arguments); }}"
        for name in kernel_names(program)
    )
    source = f'#include "emulator.h"\n{kernel_source(program)}\n{launchers}\n'
    key = hashlib.sha256((HEADER.read_text() + source + " ".join(_FLAGS)).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / f"acuity-emulated-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    library = folder / f"{program}-{key}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as place:
            (Path(place) / "kernel.cpp").write_text(source)
            made = Path(place) / "kernel.so"
            command = [str(COMPILER), *_FLAGS, f"-I{HEADER.parent}", f"{place}/kernel.cpp", "-o", str(made)]
            subprocess.run(command, check=True)
            made.rename(library)
    return ctypes.CDLL(str(library))


def launch(program: str, name: str, grid: Sequence[int], block: Sequence[int], arguments: Any) -> None:
    """Run a kernel, whose arguments lie where the pointers say."""
    run = getattr(compiled(program), f"emulate_{name}")
    with _EMULATING:
        run((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), arguments)
