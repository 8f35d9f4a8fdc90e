"""Buffers of frames: where the planes lie in them, and pools that use them again."""

from __future__ import annotations

import errno
import math
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from mmap import MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, Final, TypeAlias

from acuity.arrays import np
from acuity.errors import FormatError
from acuity.records import NamedTuple
from acuity.video.picture import Memory, PixelFormat

Bytes: TypeAlias = Any  # memory that views of it keep: an mmap, or an array of bytes
# Returns so many bytes of memory, or more, that are freed with the object. A device has a function of its own
# for memory that it copies from faster.
Allocate = Callable[[int], Bytes]

# Buffers that weren't needed for so many pictures are given back to the system.
_NOT_NEEDED: Final = 256
_HUGE: Final = 1 << 21  # bytes of a large page
# Buffers that are searched for an idle one. The buffers of more pictures than this aren't used again.
_MOST: Final = 512


def allocate(size: int) -> Bytes:
    """Memory of the process, aligned to pages; raises MemoryError."""
    try:
        room = mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"no memory for a picture of {size} bytes") from None
        raise
    if size >= _HUGE:
        with suppress(OSError):  # of systems without large pages
            room.madvise(MADV_HUGEPAGE)
    return room


def _first_idle(buffers: list[Any], idle_count: int) -> int | None:
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
    alone: list[Any] = [bytearray(1)]
    return next((n for n in range(1, 8) if _first_idle(alone, n) is not None), None)


_IDLE: Final = _idle_count()


class BufferPool:
    """Hands out byte buffers of one size to any thread: as many as there are pictures at once.

    Planes are views into a buffer, and a view keeps a reference to it. So a buffer whose only reference is
    the pool's own list has no picture left on it.
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
        room = self._allocate(self._size)
        # Through a memoryview: a view of a view refers to the array that owns the memory, and not to the one
        # that the pool counts references of.
        return room if isinstance(room, mmap) else np.frombuffer(room.data, np.uint8, self._size)


# Room for 65536 x 4096 or 16384 x 16384; more is a typing error or a malformed header.
MAX_SIDE: Final = 65536
MAX_SAMPLES: Final = 1 << 28


def check_size(name: str, width: int, height: int) -> None:
    """Refuse impossible sizes before memory is allocated for them."""
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_SAMPLES):
        raise FormatError(
            f"'{name}': a frame of {width}x{height} is not supported, each side must be 1 to {MAX_SIDE}"
            f" and the picture at most {MAX_SAMPLES} samples"
        )


class FrameLayout(NamedTuple):
    """The shapes of consecutive planes in `frame_bytes` bytes."""

    format: PixelFormat
    shapes: tuple[tuple[int, int], ...]
    frame_bytes: int  # of one frame in the file

    @classmethod
    def of(cls, format: PixelFormat, width: int, height: int, *, round_up: bool = True) -> FrameLayout:
        shapes = tuple(format.plane_shapes(width, height, round_up=round_up))
        return cls(format, shapes, format.frame_bytes(width, height, round_up=round_up))

    def planes(self, buffer: Bytes, start: int = 0, *, luma_only: bool = False) -> tuple[Memory, ...]:
        """Views on the samples of the frame that begins at `start`."""
        memory, code = memoryview(buffer), self.format.code
        planes: list[Memory] = []
        for shape in self.shapes[: 1 if luma_only else None]:
            end = start + math.prod(shape) * self.format.bytes_per_sample
            # A memoryview has one sample at least.
            none = np.empty(shape, self.format.dtype) if start == end else None
            planes.append(memory[start:end].cast(code, shape) if none is None else none)
            start = end
        return tuple(planes)

    def luma_bytes(self) -> int:
        return math.prod(self.shapes[0]) * self.format.bytes_per_sample
