"""Previews: smaller copies of PNG files, for messages that have little room."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, cast

import av
import numpy as np
from av.video.reformatter import Interpolation
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.png import rgb_png

LONGEST_SIDE: Final = 1280  # pixels; models that look at pictures make larger ones smaller anyway
_LEAST: Final = 16  # pixels across
_TRIES: Final = 6
_SIZE: Final = struct.Struct(">16xII")  # the header of a PNG file, up to its width and height


@dataclass(frozen=True, slots=True)
class Preview:
    """A smaller copy of a picture, as a PNG file."""

    data: bytes
    width: int
    height: int


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file; raises OSError or struct.error."""
    with path.open("rb") as file:
        width, height = _SIZE.unpack(file.read(_SIZE.size))
    return width, height


def scaled_png(path: Path, width: int) -> Preview:
    """The picture at another width, in square samples; raises InputError."""
    frame, aspect = _decoded(path)
    height = max(1, round(frame.height * width / (frame.width * aspect)))
    small = frame.reformat(width, height, format="rgb24", interpolation=Interpolation.AREA)
    return Preview(rgb_png(cast("NDArray[np.uint8]", small.to_ndarray())), width, height)


def rgb_samples(path: Path) -> NDArray[np.uint8]:
    """The samples of a PNG file: rows, columns, RGB; raises InputError."""
    return cast("NDArray[np.uint8]", _decoded(path)[0].to_ndarray(format="rgb24"))


def sample_aspect(path: Path) -> Fraction:
    """The shape of the samples of a PNG file, as width to height; raises InputError."""
    return _decoded(path)[1]


def _decoded(path: Path) -> tuple[av.VideoFrame, Fraction]:
    """The picture in a PNG file, and the shape of its samples; raises InputError."""
    try:
        with av.open(str(path), format="png_pipe") as container:
            frame = next(container.decode(video=0))
            return frame, container.streams.video[0].sample_aspect_ratio or Fraction(1)
    except (av.FFmpegError, StopIteration) as error:
        raise InputError(f"'{path}' is no PNG file that can be read") from error


def previews(pictures: Sequence[Path], budget: int) -> list[Preview]:
    """Copies of all pictures at one scale, which together have at most so many bytes."""
    sizes = [picture_size(path) for path in pictures]
    total = sum(path.stat().st_size for path in pictures)
    longest = max((max(size) for size in sizes), default=1)
    scale = min(1.0, LONGEST_SIDE / longest, (budget / total) ** 0.5 if total else 1.0)
    found: list[Preview] = []
    for _ in range(_TRIES):
        found = [
            scaled_png(path, max(_LEAST, round(width * scale)))
            for path, (width, _) in zip(pictures, sizes, strict=True)
        ]
        needed = sum(len(preview.data) for preview in found)
        if needed <= budget:
            return found
        scale *= 0.95 * max(0.4, (budget / needed) ** 0.5)
    return []
