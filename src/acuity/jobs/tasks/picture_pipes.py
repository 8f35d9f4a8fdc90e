"""Two pipes that give decoded pictures to a program that reads raw video.

Nothing is written to disk. Each pipe has a writing thread and a short queue, so a program may read either
video first, and neither is decoded further ahead than the length of the queue.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from acuity.errors import BackendError
from acuity.video.picture import DEPTHS, LAYOUTS

if TYPE_CHECKING:
    from acuity.video.pairs.pairing import Pairing
    from acuity.video.picture import Picture

_QUEUED: Final = 2  # pictures that wait for each pipe
_EVERY: Final = 0.1  # seconds between two progress reports


def raw_options(pairing: Pairing) -> list[str]:
    """The geometry as options of a vmaf binary; raises BackendError for pictures that no binary reads."""
    width, height, pixels = pairing.width, pairing.height, pairing.format
    remedy = "convert both videos, or unset VMAF_BIN to score with Acuity's own engine"
    if pixels.depth not in DEPTHS:
        depths = ", ".join(map(str, DEPTHS))
        raise BackendError(f"the pictures have {pixels.depth} bit, and vmaf binaries read {depths}: {remedy}")
    across, down = LAYOUTS[pixels.layout] or (0, 0)
    if width % (1 << across) or height % (1 << down):
        # Some round the size of such chroma planes up and others down; a mismatch would shift the pictures.
        raise BackendError(
            f"the pictures are {width}x{height} in {pixels.layout}, and vmaf binaries don't agree on how"
            f" large the chroma of an odd size is: {remedy}"
        )
    return [
        *("--width", str(width), "--height", str(height)),
        *("-p", pixels.layout, "-b", str(pixels.depth)),
    ]


class PicturePipes:
    """A pipe for each video; `inputs` are the ends to read from, the reference first."""

    def __init__(self) -> None:
        self._pipes = (_Pipe("reference"), _Pipe("distorted"))

    @property
    def inputs(self) -> tuple[int, int]:
        return self._pipes[0].reading, self._pipes[1].reading

    def feed(self, pairing: Pairing, frames_done: Callable[[int], None]) -> None:
        """Write every pair to a reader that has started; ends early if the reader closes a pipe.

        Raises what decoding and pairing raise; the reader then sees the end of both videos.
        """
        due = 0.0
        for pipe in self._pipes:
            pipe.start()
        try:
            for done, pair in enumerate(pairing, 1):
                for pipe, picture in zip(self._pipes, pair, strict=True):
                    pipe.put(picture)
                if any(pipe.broken for pipe in self._pipes):
                    break
                if (now := time.monotonic()) >= due:
                    due = now + _EVERY
                    frames_done(done)
        finally:
            for pipe in self._pipes:
                pipe.put(None)

    def close(self) -> None:
        """Wait for the writing threads, which end with the reader."""
        for pipe in self._pipes:
            pipe.close()


class _Pipe:
    def __init__(self, name: str) -> None:
        self.reading, self._writing = os.pipe()
        self.broken = False  # the reader has closed it
        self._waiting: queue.Queue[Picture | None] = queue.Queue(_QUEUED)
        self._thread = threading.Thread(target=self._write_all, name=f"{name}-pipe", daemon=True)

    def start(self) -> None:
        """Begin to write. Closes our reading end, which would keep the pipe open without a reader."""
        self._close_reading()
        self._thread.start()

    def put(self, picture: Picture | None) -> None:
        """Queue a picture, or None for the end."""
        self._waiting.put(picture)

    def close(self) -> None:
        self._close_reading()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            os.close(self._writing)

    def _close_reading(self) -> None:
        descriptor, self.reading = self.reading, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write_all(self) -> None:
        try:
            # Keep taking pictures after the reader has closed the pipe, or put() would wait for ever.
            while (picture := self._waiting.get()) is not None:
                if not self.broken:
                    self._write(picture)
                del picture
        finally:
            os.close(self._writing)

    def _write(self, picture: Picture) -> None:
        try:
            for plane in picture.planes:
                rest = np.ascontiguousarray(plane).data.cast("B")
                while rest:
                    rest = rest[os.write(self._writing, rest) :]
        except OSError:
            self.broken = True
