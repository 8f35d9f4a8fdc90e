"""The positions of the planes within the bytes of one frame, in raw files and in Y4M."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from acuity.errors import FormatError
from acuity.video.buffers import Bytes
from acuity.video.picture import PixelFormat, Samples

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

    def planes(self, buffer: Bytes, start: int = 0, *, luma_only: bool = False) -> tuple[Samples, ...]:
        """Views on the samples of the frame that begins at `start`."""
        dtype = self.format.dtype
        planes: list[Samples] = []
        for shape in self.shapes[: 1 if luma_only else None]:
            plane: Samples = np.ndarray(shape, dtype, buffer, start)
            planes.append(plane)
            start += plane.nbytes
        return tuple(planes)

    def luma_bytes(self) -> int:
        rows, columns = self.shapes[0]
        return rows * columns * self.format.bytes_per_sample
