"""The highest and lowest tones around each sample, and the zones beside edges."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from acuity.frames.artefacts.grid import Plane

_REACH: Final = 4  # samples
_EDGE: Final = 24.0  # levels between the tones beside an edge


class Around(NamedTuple):
    """The tones within reach of each sample; `edges` is 1 where they differ as at an edge, else 0."""

    high: Plane
    low: Plane
    edges: Plane


def around(luma: Plane) -> Around:
    high, low = _local(luma, np.maximum), _local(luma, np.minimum)
    return Around(high, low, (high - low > _EDGE).astype(np.float32))


def _local(plane: Plane, extreme: np.ufunc) -> Plane:
    return _along(_along(plane, extreme, 0), extreme, 1)


def _along(plane: Plane, extreme: np.ufunc, axis: int) -> Plane:
    """The extreme of 2 * reach + 1 samples, with samples beyond the border like those at it."""
    pad = [(0, 0), (0, 0)]
    pad[axis] = (_REACH, _REACH)
    window = np.pad(plane, pad, mode="edge")
    length, done = plane.shape[axis], 1
    while done < 2 * _REACH + 1:  # windows of 1, 2, 4, 8, 9
        step = min(done, 2 * _REACH + 1 - done)
        size = window.shape[axis] - step
        window = extreme(_cut(window, axis, 0, size), _cut(window, axis, step, step + size))
        done += step
    return _cut(window, axis, 0, length)


def _cut(plane: Plane, axis: int, start: int, stop: int) -> Plane:
    return plane[start:stop] if axis == 0 else plane[:, start:stop]
