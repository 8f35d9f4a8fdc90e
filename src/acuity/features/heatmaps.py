"""Heatmaps: 16-bit grey images, one file for each frame and scale."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_GREY_16: Final = (16, 0, 0, 0, 0)  # bits, grey, and the only methods there are
_QUICK: Final = 1  # a fast compression level is enough, because most of a heatmap is black


def png(image: NDArray[np.uint16]) -> bytes:
    """A grey image as a PNG file."""
    height, width = image.shape
    rows = np.zeros((height, 1 + 2 * width), np.uint8)  # each row starts with its filter: none
    rows[:, 1:] = image.astype(">u2").view(np.uint8)
    header = struct.pack(">II5B", width, height, *_GREY_16)
    body = zlib.compress(rows.tobytes(), _QUICK)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class HeatmapFolder:
    """The folder for an extractor's heatmaps, created if missing. Several threads may write to it."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = Path(folder)
        self._name = name  # of the figure that the heatmaps explain
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error(error) from error

    def write(self, frame: int, heatmaps: Sequence[NDArray[np.uint16]]) -> None:
        """Write the images of a frame, each completely or not at all."""
        for scale, image in enumerate(heatmaps):
            target = self._folder / f"{self._name}_heatmap_frame_{frame:06d}_scale_{scale}.png"
            # A random name, because another process may write the same frame.
            temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
            try:
                try:
                    temporary.write_bytes(png(image))
                    temporary.replace(target)
                finally:
                    temporary.unlink(missing_ok=True)
            except OSError as error:
                raise self._error(error) from error

    def _error(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        return OutputError(f"heatmaps could not be written to {str(self._folder)!r}: {reason}")
