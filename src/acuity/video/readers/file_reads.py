"""Reads frames that lie at known places of a file ahead, in threads that don't need Python's lock.

The threads are native/reading's: they read into the reader's buffers, gather figures and sign. A frame that
isn't as expected (a line with parameters, a file that was cut, an error) is read again by the reader itself,
which knows what to say.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acuity.records import NamedTuple
from acuity.video.buffers import BufferPool, Bytes
from acuity.video.picture import Picture
from acuity.video.readers.prefetch import Produce, ReadAhead
from acuity.video.source import Source

if TYPE_CHECKING:
    from acuity._native import LumaLook


class FramePlaces(NamedTuple):
    """Where frames lie in a file: frame n has `length` bytes at first + n * step, its marker among them."""

    source: Source
    pool: BufferPool
    picture: Callable[[Bytes], Picture]  # the picture in a buffer of the pool
    first: int
    step: int
    length: int
    marker: bytes = b""  # which each begins with; the samples follow
    lead: int = 0  # where a frame begins in a buffer


class WantedFrames(NamedTuple):
    """Which frames are read, and what is done with them."""

    skip: int  # frames at the start
    stride: int  # from one frame to the next
    frames: int  # that there should be
    grid: tuple[int, int] = (0, 0)  # rows and columns of signatures; (0, 0): none
    look: LumaLook | None = None
    every: int = 1  # of so many frames it sees one


class FileReads:
    """Reads ahead; take() returns the pictures in order. One thread takes them.

    `plain` reads a frame by its number where these threads can't; with `in_order` it then reads the rest too.
    """

    def __init__(
        self,
        places: FramePlaces,
        wanted: WantedFrames,
        reading: ReadAhead,
        plain: Produce,
        *,
        size: tuple[int, int],
        depth: int,
        in_order: bool,
    ) -> None:
        """Raises OSError where the system refuses threads or descriptors."""
        from acuity import _native

        self._places = places
        self._plain = plain
        self._in_order = in_order
        self._frame, self._nothing = _native.FOUND_FRAME, _native.FOUND_NOTHING
        self._grid = wanted.grid
        self._cells = wanted.grid[0] * wanted.grid[1]
        self._given: deque[tuple[Bytes, Any]] = deque()
        self._left = wanted.frames  # for which no buffer was given yet
        self._number = 0  # of the next picture
        self._stopped = self._by_itself = False
        self._end: BaseException | None = None  # what every later take() raises
        self._ended = False
        descriptor = places.source.duplicate()
        try:
            self._reads = _native.FileReads(
                descriptor,
                first=places.first + wanted.skip * places.step,
                step=wanted.stride * places.step,
                bytes=places.length,
                marker=places.marker,
                lead=places.lead,
                start=len(places.marker),
                width=size[0],
                height=size[1],
                depth=depth,
                grid=wanted.grid,
                look=wanted.look,
                every=wanted.every,
                threads=reading.threads,
                wake=1 if reading.threads > 1 else reading.ahead // 2,
            )
        except BaseException:
            os.close(descriptor)
            raise
        for _ in range(reading.ahead):
            self._give()

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether take() need not wait."""
        return not self._given or self._by_itself or self._reads.look(seconds) != self._nothing

    def take(self) -> Picture | None:
        """The next picture, None at the end; an error is raised after the pictures before it."""
        if not self._given or self._by_itself:
            return self._take_plain()
        found = self._reads.take()
        buffer, signature = self._given.popleft()
        if found != self._frame or self._places.source.closed:
            return self._take_plain()
        self._give()
        self._number += 1
        picture = self._places.picture(buffer)
        picture.signed = None if signature is None else signature.cast("B").cast("f", self._grid)
        return picture

    def stop(self) -> None:
        """Ask the threads to end; join() waits for them."""
        self._stopped = True
        self._reads.stop()

    def join(self) -> None:
        self._reads.join()

    def _give(self) -> None:
        """Room for one more frame, if there is one."""
        if self._left <= 0:
            return
        self._left -= 1
        buffer = self._places.pool.take()
        signature: Any = memoryview(bytearray(4 * self._cells)).cast("f") if self._cells else None
        self._given.append((buffer, signature))
        self._reads.give(buffer, signature)

    def _take_plain(self) -> Picture | None:
        """The next picture as the reader itself gives it."""
        if self._ended or self._stopped:
            if self._end is not None and not self._stopped:
                raise self._end
            return None
        self._by_itself = self._in_order
        try:
            picture = self._plain(self._number)
        except BaseException as error:
            self._ended, self._end = True, error
            raise
        if picture is None:
            self._ended = True
            return None
        self._number += 1
        if not self._by_itself:
            self._give()
        return picture
