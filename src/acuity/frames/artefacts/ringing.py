"""Ringing: the picture swings beyond the tones of the reference beside its edges."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import Plane
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors, worst
from acuity.frames.artefacts.strip import Strip

_REACH: Final = 4  # samples; the swings of eight by eight transforms are no longer than twice this
_EDGE: Final = 24.0  # levels between the tones beside an edge
_ROUNDING: Final = 1.0  # levels that don't count
_LEAST_ZONE: Final = 0.02  # of a cell: smaller zones beside edges don't count fully


class Ringing:
    name = "ringing"
    anchors = Anchors(0.25, 0.8, 2.5, 8.0)  # mean levels beyond the reference beside edges

    def gather(self, strip: Strip) -> Figures | None:
        if min(strip.grid.width, strip.grid.height) < 16:
            return None
        luma = strip.luma
        high, low = _local(luma.ref, np.maximum), _local(luma.ref, np.minimum)
        beyond = np.maximum(luma.dis - high, low - luma.dis)
        beyond -= np.float32(_ROUNDING)
        np.maximum(beyond, 0, out=beyond)
        zone = _local((high - low > _EDGE).astype(np.uint8), np.maximum).astype(np.float32)
        return strip.means(beyond * zone), strip.means(beyond), strip.means(zone)

    def judge(self, gathered: Gathered) -> Measured | None:
        inside, all_of_it, zone = gathered.figures
        outside = float(np.sum(all_of_it - inside) / max(float(np.sum(1 - zone)), 0.01 * zone.size))
        beyond = np.maximum(inside - np.float32(outside) * zone, 0)
        cells = np.asarray(beyond / np.maximum(zone, _LEAST_ZONE), np.float32)
        return Measured(worst(cells), cells)


def _local(plane: Plane, extreme: np.ufunc) -> Plane:
    """The extreme within reach of each sample."""
    for axis in (0, 1):
        plane = _along(plane, extreme, axis)
    return plane


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
