"""Red, green and blue of a picture, by the matrix and range of its video.

Chroma is interpolated bilinearly. Where it has fewer columns than luma, its samples lie on the columns of
even luma samples; where it has fewer rows, they lie between two rows. That is the siting of MPEG-2, H.264 and
HEVC, which FFmpeg calls left.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.video.picture import LAYOUTS, Picture, Samples

Floats = NDArray[np.float32]

# The weights of red and blue in luma (ITU-T H.273, table 4).
WEIGHTS: Final = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
}
_HD: Final = (1280, 576)  # at least so wide, or more than so high


def usual_matrix(width: int, height: int) -> str:
    """The matrix that players take a video for which doesn't say it: BT.709 for HD, BT.601 below."""
    return "bt709" if width >= _HD[0] or height > _HD[1] else "smpte170m"


def to_rgb(picture: Picture, matrix: str | None = None, full_range: bool = False) -> Floats:
    """Red, green and blue of 0 to 1, as rows x columns x 3; None stands for the matrix that players take.

    Values outside 0 to 1, which no display shows, are clipped. Raises InputError for a matrix that isn't
    in WEIGHTS, and for a picture whose chroma was left out.
    """
    name = matrix or usual_matrix(picture.width, picture.height)
    if name not in WEIGHTS:
        raise InputError(
            f"the matrix {name!r} cannot be turned into red, green and blue here: convert the video to "
            f"one of {', '.join(WEIGHTS)}"
        )
    depth = picture.format.depth
    unit = 1 << (depth - 8)
    top = (1 << depth) - 1
    zero, luma_size, chroma_size = (0, top, top) if full_range else (16 * unit, 219 * unit, 224 * unit)
    luma = (picture.luma.astype(np.float32) - np.float32(zero)) / np.float32(luma_size)
    rgb = np.empty((*luma.shape, 3), np.float32)
    if picture.format.layout == "400":
        rgb[:] = luma[..., np.newaxis]
        return cast("Floats", np.clip(rgb, 0, 1, out=rgb))
    if len(picture.planes) != 3:
        raise InputError("the picture was read without its chroma, so it has no red, green and blue")
    middle = np.float32(1 << (depth - 1))
    blue_difference, red_difference = (
        (_enlarged(plane, picture) - middle) / np.float32(chroma_size) for plane in picture.planes[1:]
    )
    red, blue = WEIGHTS[name]
    green = 1 - red - blue
    rgb[..., 0] = luma + np.float32(2 * (1 - red)) * red_difference
    rgb[..., 2] = luma + np.float32(2 * (1 - blue)) * blue_difference
    rgb[..., 1] = (
        luma
        - np.float32(2 * red * (1 - red) / green) * red_difference
        - np.float32(2 * blue * (1 - blue) / green) * blue_difference
    )
    return cast("Floats", np.clip(rgb, 0, 1, out=rgb))


def to_rgb8(picture: Picture, matrix: str | None = None, full_range: bool = False) -> NDArray[np.uint8]:
    """Red, green and blue of 0 to 255, rounded, as rows x columns x 3; otherwise as to_rgb()."""
    rgb = to_rgb(picture, matrix, full_range)
    rgb *= np.float32(255)
    return np.rint(rgb, out=rgb).astype(np.uint8)


def _enlarged(plane: Samples, picture: Picture) -> Floats:
    """A chroma plane with a sample for each one of luma."""
    across, down = LAYOUTS[picture.format.layout] or (0, 0)
    values = plane.astype(np.float32)
    if down:
        values = _doubled(values, picture.height, between=True)
    if across:
        values = _doubled(values.T, picture.width, between=False).T
    return values


def _doubled(values: Floats, length: int, *, between: bool) -> Floats:
    """Twice as many rows, up to `length`; samples lie between two new rows, or on the even ones."""
    place = np.arange(length, dtype=np.float32) / 2 - (0.25 if between else 0)
    first = np.floor(place)
    part = (place - first)[:, np.newaxis]
    last = len(values) - 1  # the edge is repeated
    above = values[np.clip(first, 0, last).astype(np.intp)]
    below = values[np.clip(first + 1, 0, last).astype(np.intp)]
    return cast("Floats", above + part * (below - above))
