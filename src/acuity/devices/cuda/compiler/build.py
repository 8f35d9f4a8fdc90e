"""KernelBuilder: compiled kernels for one architecture, from the cache or compiled side by side."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from acuity.devices.cpu import available_threads
from acuity.devices.cuda.compiler.compile import OPTIONS, NvrtcCompiler
from acuity.devices.cuda.compiler.kernel_cache import KernelCache, kernel_key

_KERNELS: Final = Path(__file__).parents[1] / "kernels"
_INCLUDE: Final = re.compile(r'^#include "([a-z0-9_/]+\.cuh)"$', re.MULTILINE)
_BRACE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|([{}])', re.DOTALL)
_KERNEL: Final = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(')


@cache
def kernel_source(program: str) -> str:
    """The text of a program, complete for a compiler that reads no files."""
    seen: set[str] = set()

    def text(name: str) -> str:
        source = (_KERNELS / name).read_text("utf-8")
        return _INCLUDE.sub(included, source).replace("#pragma once\n", "")

    def included(found: re.Match[str]) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        return text(name)

    return text(f"{program}.cu")


@cache
def single_kernel(program: str, kernel: str) -> str:
    """The text of a program with one of its kernels alone: each is compiled by itself, beside the others."""
    source = kernel_source(program)
    kept, end = [], 0
    for found in _KERNEL.finditer(source):
        if found[1] != kernel:
            after = _end_of_body(source, found.end())
            # As many lines as before, so that messages of the compiler name the right one.
            kept += [source[end : found.start()], "\n" * source.count("\n", found.start(), after)]
            end = after
    return "".join([*kept, source[end:]])


def _end_of_body(source: str, start: int) -> int:
    """Where the function ends whose parameters start there."""
    depth = 0
    for found in _BRACE.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(found[1], 0)
        if found[1] == "}" and depth == 0:
            return found.end()
    raise ValueError("a function without an end")


def kernel_names(program: str) -> list[str]:
    """The kernels of a program."""
    return _KERNEL.findall(kernel_source(program))


class _Building(threading.Thread):
    """Makes the code of one kernel. A daemon, so that a command that ends early doesn't wait for it."""

    def __init__(self, name: str, make: Callable[[], bytes]) -> None:
        super().__init__(name=f"acuity-build-{name}", daemon=True)
        self._make = make
        self._made: bytes | BaseException = b""

    def run(self) -> None:
        try:
            self._made = self._make()
        except BaseException as error:  # raised again by code()
            self._made = error

    def code(self) -> bytes:
        """Wait for it; raises BackendError if it can't be compiled."""
        self.join()
        if isinstance(self._made, BaseException):
            raise self._made
        return self._made


class KernelBuilder:
    """Compiles each kernel once, in a thread of its own; any thread may use it."""

    def __init__(
        self,
        architecture: str,
        compiler: NvrtcCompiler,
        cache: KernelCache,
        source: Callable[[str, str], str] = single_kernel,
    ) -> None:
        self._architecture = architecture
        self._compiler = compiler
        self._cache = cache
        self._source = source
        self._lock = threading.Lock()
        self._built: dict[tuple[str, str], _Building] = {}
        self._turns = threading.Semaphore(available_threads())

    @property
    def notes(self) -> list[str]:
        """Notes on faults of the cache."""
        return self._cache.notes

    def prefetch(self, program: str, names: Sequence[str]) -> None:
        """Begin to build kernels of a program; returns at once."""
        for name in names:
            self._begin(program, name)

    def code(self, program: str, name: str) -> bytes:
        """The code of a kernel; raises BackendError if it can't be compiled."""
        return self._begin(program, name).code()

    def rebuild(self, program: str, name: str) -> bytes:
        """The code compiled anew, for a card that doesn't load what was cached."""
        self._cache.drop(self._key(program, name))
        with self._lock:
            self._built.pop((program, name), None)
        return self.code(program, name)

    def _begin(self, program: str, name: str) -> _Building:
        with self._lock:
            if (found := self._built.get((program, name))) is None:
                found = self._built[program, name] = _Building(name, partial(self._build, program, name))
                found.start()
            return found

    def _build(self, program: str, name: str) -> bytes:
        key = self._key(program, name)
        code = self._cache.find(key)
        if code is None:
            with self._turns:
                source = self._source(program, name)
                code = self._compiler.compile(f"{program}.{name}", source, self._architecture)
            self._cache.keep(key, code)
        return code

    def _key(self, program: str, name: str) -> str:
        return kernel_key(self._compiler.identity, self._architecture, *OPTIONS, self._source(program, name))
