"""Frame buffers that are reused when no picture refers to them any more."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

# More idle buffers than this are given back to the system.
_KEEP: Final = 16


def _first_idle(buffers: list[Bytes], idle_count: int) -> Bytes | None:
    for buffer in buffers:
        if sys.getrefcount(buffer) <= idle_count:
            return buffer
    return None


def _idle_count() -> int | None:
    """The result of sys.getrefcount inside _first_idle for a buffer that only the list holds.

    It differs between interpreters, so it is measured. None without the GIL, where it proves nothing.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    alone = [np.empty(1, np.uint8)]
    return next((n for n in range(1, 8) if _first_idle(alone, n) is not None), None)


_IDLE: Final = _idle_count()


class BufferPool:
    """Hands out byte buffers of one size.

    Planes are numpy views into a buffer, and a view keeps a reference to the array that owns its
    memory. So a buffer whose only reference is the pool's own list has no picture left on it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._buffers: list[Bytes] = []

    def take(self) -> Bytes:
        if _IDLE is not None:
            idle = _first_idle(self._buffers, _IDLE)
            if idle is not None:
                return idle
        fresh = np.empty(self._size, np.uint8)
        if _IDLE is not None and len(self._buffers) < _KEEP:
            self._buffers.append(fresh)
        return fresh
