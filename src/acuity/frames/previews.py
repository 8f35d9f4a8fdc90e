"""Smaller copies of pictures within a number of bytes: PNG files for messages, WebP files for pages."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from acuity.errors import InputError
from acuity.frames.colours import Rgb8
from acuity.png import rgb_png

LONGEST_SIDE: Final = 1280  # pixels; models that look at pictures make larger ones smaller anyway
_LEAST: Final = 16  # pixels across
_TRIES: Final = 6


class Preview(NamedTuple):
    """A smaller copy of a picture, as a PNG file."""

    data: bytes
    width: int
    height: int


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file; raises OSError."""
    with Image.open(path, formats=["PNG"]) as picture:
        return picture.size


def scaled_png(path: Path, width: int) -> Preview:
    """The picture at another width, in square samples; raises InputError."""
    picture, aspect = decoded(path)
    height = max(1, round(picture.height * width / (picture.width * aspect)))
    small = picture.resize((width, height), Image.Resampling.BOX)
    return Preview(rgb_png(np.asarray(small)), width, height)


def rgb_samples(path: Path) -> NDArray[np.uint8]:
    """The samples of a PNG file: rows, columns, RGB; raises InputError."""
    return np.asarray(decoded(path)[0])


def decoded(path: Path) -> tuple[Image.Image, Fraction]:
    """The picture in a PNG file, and the shape of its samples, as width to height; raises InputError."""
    try:
        with Image.open(path, formats=["PNG"]) as picture:
            across, down = picture.info.get("aspect", (1, 1))  # samples of a length
            return picture.convert("RGB"), Fraction(down, across)
    except (OSError, SyntaxError, ValueError, ArithmeticError) as error:  # what Pillow says of bad files
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


# The longer side in pixels, and the quality, from the best that is wanted down to the least. Smaller pictures
# hide flaws, and so does a low quality: both give way in turn.
_RUNGS: Final = (
    *((1920, 88), (1600, 86), (1280, 86), (1280, 78), (960, 84), (960, 76), (800, 76), (640, 76)),
    *((640, 64), (480, 64), (320, 60), (240, 40), (160, 30), (96, 10)),
)
_EFFORT: Final = 2  # of 6: a third of the time of the usual 4, for files that are hardly larger
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

    All get the same size and quality, so that compression adds the same to each. They are about as
    large as the budget allows, but no larger than the pictures, in square samples; `aspect` is that of the
    samples. If not even the smallest files fit, they are returned.
    """
    rows, columns, _ = next(iter(pictures.values())).shape
    found: FrameFiles | None = None
    density = _SMOOTH * len(pictures)  # bytes of all files for a unit of weight
    for longer, quality in _RUNGS:
        width, height = _fitting(columns, rows, aspect or Fraction(1), longer)
        weight = width * height * 2 ** ((quality - 75) / 14)  # a pixel takes about so much more at a quality
        if weight * density > budget * _HOPE and (longer, quality) != _RUNGS[-1]:
            continue
        files = {kind: _webp(picture, width, height, quality) for kind, picture in pictures.items()}
        found = FrameFiles(width, height, files)
        density = found.size / weight
        if found.size <= budget:
            break
    assert found is not None
    return found


def _webp(picture: Rgb8, width: int, height: int, quality: int) -> bytes:
    """A picture at another size as a WebP file."""
    file = io.BytesIO()
    small = Image.fromarray(picture).resize((width, height), Image.Resampling.BOX)
    small.save(file, "WEBP", quality=quality, method=_EFFORT)
    return file.getvalue()


def _fitting(columns: int, rows: int, aspect: Fraction, longer: int) -> tuple[int, int]:
    """The size in square samples whose longer side is at most that."""
    wide, high = (columns * aspect, Fraction(rows)) if aspect >= 1 else (Fraction(columns), rows / aspect)
    scale = min(Fraction(1), longer / max(wide, high))
    return max(round(wide * scale), 1), max(round(high * scale), 1)
