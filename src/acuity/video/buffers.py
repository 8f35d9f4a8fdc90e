"""Frame buffers that are reused when no picture refers to them any more."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
# Returns so many bytes of memory, or more, that are freed with the array. A device has a function of its own
# for memory that it copies from faster.
Allocate = Callable[[int], Bytes]

# Buffers that weren't needed for so many pictures are given back to the system.
_NOT_NEEDED: Final = 256
# Buffers that are looked through for an idle one. Who keeps more pictures at once than this keeps them all.
_MOST: Final = 512
_ALIGNED: Final = 64  # bytes: a line of the cache, and the widest vector


def allocate(size: int) -> Bytes:
    """Memory of the process, aligned for the kernels."""
    room = np.empty(size + _ALIGNED, np.uint8)
    start = -room.ctypes.data % _ALIGNED
    return room[start : start + size]


def _first_idle(buffers: list[Bytes], idle_count: int) -> int | None:
    """The position of the first buffer that only the list holds."""
    for position, buffer in enumerate(buffers):
        if sys.getrefcount(buffer) <= idle_count:
            return position
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
    """Hands out byte buffers of one size to any thread: as many as there are pictures at once.

    Planes are numpy views into a buffer, and a view keeps a reference to it. So a buffer whose only reference
    is the pool's own list has no picture left on it.
    """

    def __init__(self, size: int, allocate: Allocate = allocate) -> None:
        self._size = size
        self._allocate = allocate
        self._buffers: list[Bytes] = []
        self._lock = threading.Lock()
        self._taken = 0
        self._needed = 0  # buffers at the list's start, since it was looked at last

    def take(self) -> Bytes:
        if _IDLE is None:
            return self._fresh()
        with self._lock:
            position = _first_idle(self._buffers, _IDLE)
            if position is not None:
                taken = self._buffers[position]
                self._note(position + 1)
                return taken
        fresh = self._fresh()  # which may take a while, so not under the lock
        with self._lock:
            if len(self._buffers) < _MOST:
                self._buffers.append(fresh)
                self._note(len(self._buffers))
        return fresh

    def _note(self, needed: int) -> None:
        """Note how much of the list was needed, and now and then let go of the rest."""
        self._taken += 1
        self._needed = max(self._needed, needed)
        if self._taken % _NOT_NEEDED == 0:
            del self._buffers[self._needed :]
            self._needed = 0

    def _fresh(self) -> Bytes:
        # Through a memoryview: a view of a view refers to the array that owns the memory, and not to the one
        # that the pool counts references of.
        return np.frombuffer(self._allocate(self._size).data, np.uint8, self._size)
