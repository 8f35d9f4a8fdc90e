"""Resizing of planes for models of a fixed size, as ONNX's own Resize operator does it.

    bilinear   half-pixel centres, no antialiasing
    nearest    the sample at floor(position), from the top left corner
    bicubic    half-pixel centres, Catmull-Rom (a = -0.5), no antialiasing

The edge is repeated, and nothing is clipped: bicubic may leave the range of the samples a little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Indices = NDArray[np.intp]

_CATMULL_ROM: Final = -0.5


def resize(planes: Floats, height: int, width: int, filter: str) -> Floats:
    """The planes, an array whose last two axes are rows and columns, in another size."""
    rows, columns = planes.shape[-2:]
    if (rows, columns) == (height, width):
        return planes
    down = _taps(rows, height, filter)
    across = _taps(columns, width, filter)
    return _along(_along(planes, down, -2), across, -1)


def _along(planes: Floats, taps: tuple[Indices, Floats], axis: int) -> Floats:
    """One axis resampled: the weighted sum of a few samples for each new one."""
    places, weights = taps
    shape = (-1, 1) if axis == -2 else (-1,)
    found = planes.take(places[0], axis) * weights[0].reshape(shape)
    for place, weight in zip(places[1:], weights[1:], strict=True):
        found += planes.take(place, axis) * weight.reshape(shape)
    return cast("Floats", found)


@lru_cache(maxsize=32)
def _taps(size: int, wanted: int, filter: str) -> tuple[Indices, Floats]:
    """For each new sample the places of the old ones it is made of, and their weights."""
    places, weights = _FILTERS[filter](size, wanted)
    return np.clip(places, 0, size - 1).astype(np.intp), weights.astype(np.float32)


def _centres(size: int, wanted: int) -> NDArray[np.float64]:
    return (np.arange(wanted, dtype=np.float64) + 0.5) * (size / wanted) - 0.5


def _bilinear(size: int, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    centre = np.clip(_centres(size, wanted), 0, size - 1)
    first = np.floor(centre)
    part = centre - first
    return np.stack((first, first + 1)), np.stack((1 - part, part))


def _nearest(size: int, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return (np.arange(wanted) * size // wanted)[np.newaxis].astype(np.float64), np.ones((1, wanted))


def _bicubic(size: int, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    centre = _centres(size, wanted)
    first = np.floor(centre)
    part = centre - first
    places = np.stack([first + offset for offset in (-1, 0, 1, 2)])
    weights = np.stack([_cubic(np.abs(part - offset)) for offset in (-1, 0, 1, 2)])
    return places, weights


def _cubic(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' cubic kernel."""
    a = _CATMULL_ROM
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


_FILTERS: Final[dict[str, Callable[[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]]]] = {
    "bilinear": _bilinear,
    "nearest": _nearest,
    "bicubic": _bicubic,
}
