"""Two videos that are still being made: frames go into named pipes when a test says so."""

from __future__ import annotations

import os
import select
from pathlib import Path

from embedded_client import PATIENCE
from moving_pictures import HEIGHT, WIDTH
from scoring_clips import samples

_HEAD = f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420jpeg\n".encode()
_SIZE = WIDTH * HEIGHT * 3 // 2


class Film:
    """A pair in pipes; close() is its end."""

    def __init__(self, folder: Path, length: int) -> None:
        """`length` is how many frames there are before it starts over."""
        self.paths = folder / "ref.y4m", folder / "dis.y4m"
        self.written = 0
        self._frames = [samples(length, worse=worse) for worse in (False, True)]
        self._length = length
        for path in self.paths:
            os.mkfifo(path)
        # For both ways, so that nobody waits for the other end to be opened.
        self._ends = [os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in self.paths]
        for end in self._ends:
            self._write(end, _HEAD)

    def more(self, count: int = 1) -> None:
        """Frames for both; waits where nobody reads."""
        for _ in range(count):
            at = self.written % self._length * _SIZE
            for end, data in zip(self._ends, self._frames, strict=True):
                self._write(end, b"FRAME\n" + data[at : at + _SIZE])
            self.written += 1

    def begin(self) -> None:
        """A frame that lacks its last sample, for both: nothing can follow it."""
        for end, data in zip(self._ends, self._frames, strict=True):
            self._write(end, b"FRAME\n" + data[: _SIZE - 1])

    def keep(self, folder: Path) -> tuple[Path, Path]:
        """What was written so far, as files."""
        found = []
        for path, data in zip(self.paths, self._frames, strict=True):
            frames = (index % self._length * _SIZE for index in range(self.written))
            kept = folder / f"kept_{path.name}"
            kept.write_bytes(_HEAD + b"".join(b"FRAME\n" + data[at : at + _SIZE] for at in frames))
            found.append(kept)
        return found[0], found[1]

    def close(self) -> None:
        while self._ends:
            os.close(self._ends.pop())

    @staticmethod
    def _write(end: int, data: bytes) -> None:
        while data:
            _, ready, _ = select.select([], [end], [], PATIENCE)
            assert ready, "nobody reads the film"
            data = data[os.write(end, data) :]
