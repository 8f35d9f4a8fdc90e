"""Reads Thrift's compact encoding, in which parquet files describe themselves.

Arrow's own reader ends the whole process at some damaged or encrypted descriptions, so they are read here
first. Only the fields that are asked for are kept; all others are stepped over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

# The fields to keep by number: None for a plain value or a list of them, a mapping for those of a structure.
Wanted: TypeAlias = "Mapping[int, Wanted | None]"

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS: Final = (4, 5, 6)  # i16, i32, i64
_DEEPEST: Final = 16  # structures within structures
_NOTHING: Final[dict[int, None]] = {}


class BadThrift(ValueError):
    """Not the encoding that was expected."""


class CompactReader:
    """Reads structures from bytes; `at` is where the next one begins."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, wanted: Wanted, depth: int = 0) -> dict[int, Any]:
        """The wanted fields of a structure by number; raises BadThrift."""
        if depth > _DEEPEST:
            raise BadThrift
        found: dict[int, Any] = {}
        field = 0
        while (byte := self._byte()) != 0:
            step, kind = byte >> 4, byte & 0x0F
            field = field + step if step else self._signed()
            if kind in (_TRUE, _FALSE):  # the type of a field is its value
                value: Any = kind == _TRUE
            else:
                value = self._value(kind, wanted.get(field) or _NOTHING, field in wanted, depth)
            if field in wanted:
                found[field] = value
        return found

    def _value(self, kind: int, wanted: Wanted, kept: bool, depth: int) -> Any:
        if kind in _NUMBERS:
            return self._signed()
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind == _STRUCT:
            return self.struct(wanted, depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            size, inner = head >> 4, head & 0x0F
            if size == 15:
                size = self._number()
            if kept:
                return [self._value(inner, wanted, True, depth + 1) for _ in range(self._counted(size))]
            for _ in range(self._counted(size)):
                self._value(inner, _NOTHING, False, depth + 1)
            return None
        if kind == _MAP:
            size = self._number()
            kinds = self._byte() if size else 0
            for _ in range(self._counted(size)):
                self._value(kinds >> 4, _NOTHING, False, depth + 1)
                self._value(kinds & 0x0F, _NOTHING, False, depth + 1)
            return None
        if kind in (_TRUE, _FALSE, _BYTE):  # in lists
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise BadThrift

    def _counted(self, size: int) -> int:
        """The number of elements, which have a byte each at least."""
        if size > len(self._data) - self.at:
            raise BadThrift
        return size

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise BadThrift
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        start, self.at = self.at, self.at + length
        if self.at > len(self._data):
            raise BadThrift
        return self._data[start : self.at]

    def _number(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise BadThrift

    def _signed(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)
