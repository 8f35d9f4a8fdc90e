"""A card that runs kernels on the CPU, with the compiler of this machine: see emulator.h."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.devices.cuda.compiler.build import kernel_names, kernel_source
from acuity.devices.cuda.hardware.card import Argument, Bytes, Event, Properties, Shape, Stream
from acuity.video.card_picture import CardPlane

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


def _packed(argument: Argument) -> Any:
    if isinstance(argument, np.generic):
        return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())
    return ctypes.c_uint64(argument)


class EmulatedMemory:
    def __init__(self, size: int) -> None:
        self._bytes = np.full(size + 256, 0xA5, np.uint8)  # what was not written is no use to anybody
        self.address = -(-self._bytes.ctypes.data // 256) * 256
        self.size = size


class EmulatedEvent:
    def reached(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class EmulatedKernel:
    def __init__(self, program: str, name: str) -> None:
        self._launch = getattr(compiled(program), f"emulate_{name}")
        self.handle = ctypes.cast(self._launch, ctypes.c_void_p).value or 0

    def __call__(self, stream: Stream, grid: Shape, block: Shape, *arguments: Argument) -> None:
        packed = [_packed(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(packed))(*[ctypes.addressof(value) for value in packed])
        launch(self._launch, grid, block, pointers)


def launch(function: Any, grid: Shape, block: Shape, arguments: Any) -> None:
    """Run an emulated kernel, whose arguments lie where the pointers say."""
    with _EMULATING:
        function((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), arguments)


class EmulatedStream:
    """Does everything at once."""

    handle = 77

    def upload(self, address: int, pitch: int, rows: NDArray[Any]) -> None:
        for number, row in enumerate(rows):
            line = np.ascontiguousarray(row)
            ctypes.memmove(address + number * pitch, line.ctypes.data, line.nbytes)

    def download(self, into: NDArray[Any], address: int, pitch: int | None = None) -> None:
        assert into.flags.c_contiguous
        rows = 1 if pitch is None else len(into)
        width = into.nbytes // rows
        for row in range(rows):
            ctypes.memmove(into.ctypes.data + row * width, address + row * (pitch or width), width)

    def copy(self, address: int, pitch: int, plane: CardPlane) -> None:
        rows, columns = plane.shape
        for row in range(rows):
            source = plane.address + row * plane.pitch
            ctypes.memmove(address + row * pitch, source, columns * plane.dtype.itemsize)

    def clear(self, address: int, size: int) -> None:
        ctypes.memset(address, 0, size)

    def mark(self) -> Event:
        return EmulatedEvent()

    def after(self, event: Event) -> None:
        pass

    def repeatable(self, work: Callable[[], None]) -> Callable[[], None]:
        work()
        return work


class EmulatedCard:
    """An implementation of Card."""

    def __init__(self, memory: int = 1 << 30) -> None:
        self.properties = Properties(0, "emulated", memory, "sm_90", "13.0", 1)
        self._memory = memory
        self.context = 0

    def in_place(self) -> AbstractContextManager[None]:
        return nullcontext()

    def allocate(self, size: int) -> EmulatedMemory:
        return EmulatedMemory(size)

    def free_memory(self) -> int:
        return self._memory

    def pinned(self, size: int) -> Bytes:
        return np.zeros(size, np.uint8)

    def is_pinned(self, array: NDArray[Any]) -> bool:
        return False

    def stream(self) -> EmulatedStream:
        return EmulatedStream()

    def stream_of_others(self, handle: int) -> EmulatedStream:
        return EmulatedStream()

    def card_of(self, address: int) -> int | None:
        return self.properties.number

    def prefetch(self, program: str, names: Sequence[str]) -> None:
        pass

    def kernels(self, program: str, names: Sequence[str]) -> list[EmulatedKernel]:
        return [EmulatedKernel(program, name) for name in names]
