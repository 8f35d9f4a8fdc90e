"""Splits a stream of bytes into bodies that each have a head with their length before them. No I/O."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Head: TypeAlias = tuple[Any, ...]
Pieces: TypeAlias = tuple[bytes, ...]


class LengthPrefix:
    """Turns bytes, in pieces of any size, back into heads and bodies.

    A body stays in the pieces that it came in, so that the owner can join a long one where it doesn't hold up
    others. The length in a head is checked before any of its body is kept.
    """

    __slots__ = ("_head", "_length_of", "_missing", "_partial_head", "_pieces", "_size", "_struct")

    def __init__(self, head: struct.Struct, length_of: Callable[[Head], int]) -> None:
        """`length_of` is the length that a head names; it raises an error for a bad head."""
        self._struct: Final = head
        self._size: Final = head.size
        self._length_of: Final = length_of
        self._partial_head = b""
        self._head: Head = ()
        self._missing: int | None = None  # bytes of the body still to come; None while reading a head
        self._pieces: list[bytes] = []

    @property
    def partial(self) -> bool:
        """Whether a head or a body has begun but not ended."""
        return bool(self._partial_head) or self._missing is not None

    def feed(self, data: bytes) -> list[tuple[Head, Pieces]]:
        """The heads with bodies that these bytes complete; after an error nothing more can be read."""
        found: list[tuple[Head, Pieces]] = []
        start, end, size = 0, len(data), self._size
        if self._missing is not None:
            start = self._continue(data, found)
        elif self._partial_head:
            data = self._partial_head + data
            end, self._partial_head = len(data), b""
        while end - start >= size:
            head = self._struct.unpack_from(data, start)
            length = self._length_of(head)
            start += size
            stop = start + length
            if stop > end:
                self._head, self._missing = head, stop - end
                if start < end:
                    self._pieces.append(data[start:])
                return found
            found.append((head, (data[start:stop],) if length else ()))
            start = stop
        if start < end:
            self._partial_head = data[start:]
        return found

    def _continue(self, data: bytes, found: list[tuple[Head, Pieces]]) -> int:
        """Add to the body that has begun; returns where the rest of the bytes begins."""
        assert self._missing is not None
        piece = data[: self._missing]
        self._missing -= len(piece)
        if piece:
            self._pieces.append(piece)
        if self._missing == 0:
            found.append((self._head, tuple(self._pieces)))
            self._pieces.clear()
            self._missing = None
        return len(piece)
