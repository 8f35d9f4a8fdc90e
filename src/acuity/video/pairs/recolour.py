"""Recolour: the arithmetic that takes samples from one colour space to another.

A player turns the samples of each video into red, green and blue with that video's own matrix. So two videos
with other matrices are comparable once one has gone through its own matrix and back through the other's. Luma
changes, except for grays. Primaries as far apart as BT.2020's and BT.709's are converted in linear light.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Picture, PixelFormat, Samples
from acuity.video.rgb import WEIGHTS

Floats = NDArray[np.float32]

# x and y of red, green and blue (H.273, table 2); white is D65 for all of them.
CHROMATICITIES: Final = {
    "bt709": ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060)),
    "bt470bg": ((0.640, 0.330), (0.290, 0.600), (0.150, 0.060)),
    "smpte170m": ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070)),
    "smpte240m": ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070)),
    "bt2020": ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    "smpte432": ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}
_WHITE: Final = (0.3127, 0.3290)
_GAMMA: Final = 2.4  # of a display (BT.1886)


@dataclass(frozen=True, slots=True)
class ColourSpace:
    """How samples stand for colours."""

    matrix: str
    full_range: bool
    depth: int
    primaries: str | None = None  # None: whatever the other has


@dataclass(frozen=True, slots=True)
class Recolour:
    """Another matrix, range, depth and, where both are said, other primaries; of 4:4:4 pictures."""

    source: ColourSpace
    target: ColourSpace
    _parts: tuple[NDArray[np.float64], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        to_rgb = np.linalg.inv(_to_yuv(self.source.matrix)) @ _scale(self.source, inverse=True)
        to_yuv = _scale(self.target) @ _to_yuv(self.target.matrix)
        one, other = self.source.primaries, self.target.primaries
        if one is None or other is None or one == other:
            parts: tuple[NDArray[np.float64], ...] = (to_yuv @ to_rgb,)
        else:
            parts = (to_rgb, gamut_matrix(one, other), to_yuv)
        object.__setattr__(self, "_parts", parts)

    def __call__(self, picture: Picture) -> Picture:
        values = tuple(
            plane.astype(np.float32) - np.float32(zero)
            for plane, zero in zip(picture.planes, _zeros(self.source), strict=True)
        )
        if len(self._parts) == 1:
            values = _times(self._parts[0], values)
        else:
            to_rgb, to_others, to_yuv = self._parts
            light = tuple(_power(plane, _GAMMA) for plane in _times(to_rgb, values))
            shown = tuple(_power(plane, 1 / _GAMMA) for plane in _times(to_others, light))
            values = _times(to_yuv, shown)
        top = (1 << self.target.depth) - 1
        format = PixelFormat(picture.format.layout, self.target.depth)
        planes = tuple(
            cast("Samples", np.clip(np.rint(plane + np.float32(zero)), 0, top).astype(format.dtype))
            for plane, zero in zip(values, _zeros(self.target), strict=True)
        )
        return picture.changed(planes=planes, format=format)


def gamut_matrix(source: str, target: str) -> NDArray[np.float64]:
    """From linear red, green and blue of some primaries to those of others."""
    return np.linalg.inv(_to_xyz(target)) @ _to_xyz(source)


def _to_yuv(matrix: str) -> NDArray[np.float64]:
    """From red, green and blue of 0 to 1 to luma of 0 to 1 and chroma of -0.5 to 0.5."""
    red, blue = WEIGHTS[matrix]
    luma = np.array((red, 1 - red - blue, blue))
    chroma = ((np.eye(3)[at] - luma) / (2 * (1 - weight)) for at, weight in ((2, blue), (0, red)))
    return np.array((luma, *chroma))


def _scale(space: ColourSpace, *, inverse: bool = False) -> NDArray[np.float64]:
    """From 0 to 1 to samples, or back."""
    unit = 1 << (space.depth - 8)
    top = (1 << space.depth) - 1
    limited = (219 * unit, 224 * unit, 224 * unit)
    sizes = np.array((top, top, top) if space.full_range else limited, np.float64)
    return np.diag(1 / sizes if inverse else sizes)


def _zeros(space: ColourSpace) -> tuple[int, int, int]:
    """The samples that stand for no luma and no chroma."""
    middle = 1 << (space.depth - 1)
    return (0 if space.full_range else 16 << (space.depth - 8)), middle, middle


def _times(matrix: NDArray[np.float64], planes: tuple[Floats, ...]) -> tuple[Floats, ...]:
    rows = matrix.astype(np.float32)
    return tuple(row[0] * planes[0] + row[1] * planes[1] + row[2] * planes[2] for row in rows)


@cache
def _to_xyz(primaries: str) -> NDArray[np.float64]:
    """From linear red, green and blue to CIE XYZ, with white at 1, 1, 1."""
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in CHROMATICITIES[primaries]]).T
    x, y = _WHITE
    return cast("NDArray[np.float64]", columns * np.linalg.solve(columns, (x / y, 1, (1 - x - y) / y)))


def _power(plane: Floats, exponent: float) -> Floats:
    """Each value to a power, within 0 to 1: what lies outside cannot be shown."""
    return cast("Floats", np.power(np.clip(plane, 0, 1), np.float32(exponent)))
