"""Compresses the pictures of a frame as WebP files, together within a number of bytes.

All pictures of a frame get the same size and quality, so that what compression adds is the same in the
reference and in the distorted picture.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple, cast

import av
from av.video.reformatter import Interpolation

from acuity.frames.colours import Rgb8

# The longer side in pixels, and the quality, from the best that is wanted down to the least. Smaller pictures
# hide flaws, and so does a low quality: both give way in turn.
_RUNGS: Final = (
    (1920, 88),
    (1600, 86),
    (1280, 86),
    (1280, 78),
    (960, 84),
    (960, 76),
    (800, 76),
    (640, 76),
    (640, 64),
    (480, 64),
    (320, 60),
    (240, 40),
    (160, 30),
    (96, 10),
)
_EFFORT: Final = "2"  # of 6: a third of the time of the usual 4, for files that are hardly larger
_SMOOTH: Final = 0.03  # bytes that a pixel of a smooth picture takes at quality 75
_HOPE: Final = 1.3  # a rung is tried although it should be so much too large: sizes are guessed roughly


class FrameFiles(NamedTuple):
    """The pictures of a frame as WebP files of one size, by what they show."""

    width: int
    height: int
    files: dict[str, bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))

    def urls(self) -> dict[str, str]:
        """The files as data: URLs."""
        coded = {kind: base64.b64encode(data).decode() for kind, data in self.files.items()}
        return {kind: f"data:image/webp;base64,{data}" for kind, data in coded.items()}


def compressed(pictures: Mapping[str, Rgb8], budget: int, aspect: Fraction | None = None) -> FrameFiles:
    """The pictures, which have one size, as files that take at most `budget` bytes together.

    They are about as large as that allows, but no larger than the pictures, in square samples; `aspect` is
    that of the samples. If not even the smallest files fit, they are returned.
    """
    rows, columns, _ = next(iter(pictures.values())).shape
    found: FrameFiles | None = None
    density = _SMOOTH * len(pictures)  # bytes of all files for a unit of weight
    for longer, quality in _RUNGS:
        width, height = _fitting(columns, rows, aspect or Fraction(1), longer)
        weight = width * height * _relative_size(quality)
        guess = weight * density
        if guess > budget * _HOPE and (longer, quality) != _RUNGS[-1]:
            continue
        files = {kind: webp(picture, width, height, quality) for kind, picture in pictures.items()}
        found = FrameFiles(width, height, files)
        density = found.size / weight
        if found.size <= budget:
            break
    assert found is not None
    return found


def webp(picture: Rgb8, width: int, height: int, quality: int) -> bytes:
    """A picture at another size as a WebP file."""
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    # BGRA, so that the encoder itself makes the YUV that browsers expect.
    small = frame.reformat(width, height, format="bgra", interpolation=Interpolation.AREA)
    encoder = cast("Any", av.CodecContext.create("libwebp", "w"))
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "bgra"
    encoder.time_base = Fraction(1, 25)  # it asks for one
    encoder.options = {"quality": str(quality), "compression_level": _EFFORT}
    return b"".join(bytes(packet) for packet in (*encoder.encode(small), *encoder.encode(None)))


def _fitting(columns: int, rows: int, aspect: Fraction, longer: int) -> tuple[int, int]:
    """The size in square samples whose longer side is at most that."""
    wide, high = (columns * aspect, Fraction(rows)) if aspect >= 1 else (Fraction(columns), rows / aspect)
    scale = min(Fraction(1), longer / max(wide, high))
    return max(round(wide * scale), 1), max(round(high * scale), 1)


def _relative_size(quality: int) -> float:
    """How many bytes a pixel takes at a quality, about, in units of those at 75."""
    return float(2 ** ((quality - 75) / 14))
