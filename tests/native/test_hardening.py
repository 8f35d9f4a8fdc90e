"""The module as it is linked: tables of functions are read-only, and overruns are noticed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from acuity import _native

PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
DT_STRTAB, DT_STRSZ, DT_FLAGS, DT_FLAGS_1 = 5, 10, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, PF_X = 8, 1, 1


class Elf:
    """Headers and the dynamic section of a little-endian 64-bit ELF file."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            pytest.skip("no 64-bit little-endian ELF file")
        (start,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        # kind, flags, offset, virtual address, physical address, size in the file, in memory, alignment
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, start + size * n) for n in range(count)]
        self.dynamic = dict(self._dynamic())

    def _dynamic(self) -> Iterator[tuple[int, int]]:
        for kind, _, offset, _, _, size, *_ in self.segments:
            if kind == PT_DYNAMIC:
                yield from struct.iter_unpack("<qQ", self.data[offset : offset + size])

    def texts(self) -> set[str]:
        """All names in the dynamic section: libraries, and functions that are imported or exported."""
        address, size = self.dynamic[DT_STRTAB], self.dynamic[DT_STRSZ]
        for kind, _, offset, start, _, length, *_ in self.segments:
            if kind == PT_LOAD and start <= address < start + length:
                at = offset + address - start
                return {name.decode() for name in self.data[at : at + size].split(b"\0")}
        raise AssertionError("the names are in no segment")


@pytest.fixture(scope="module")
def module() -> Elf:
    assert _native.__file__ is not None
    elf = Elf(Path(_native.__file__))
    if any("asan" in name or "tsan" in name for name in elf.texts()):
        pytest.skip("built with sanitizers, which have their own ways")
    return elf


def test_tables_of_functions_are_read_only_before_any_code_runs(module: Elf) -> None:
    assert any(kind == PT_GNU_RELRO for kind, *_ in module.segments)
    assert module.dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW or module.dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW


def test_the_stack_is_guarded_and_holds_no_code(module: Elf) -> None:
    assert "__stack_chk_fail" in module.texts()
    assert [flags & PF_X for kind, flags, *_ in module.segments if kind == PT_GNU_STACK] == [0]


def test_the_c_library_checks_sizes_that_the_compiler_knows(module: Elf) -> None:
    assert {"__memcpy_chk", "__memset_chk", "__snprintf_chk"} & module.texts()
