"""Ringing: the picture swings beyond the tones of the reference beside its edges."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import smoothed
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import WORST, Anchors, worst
from acuity.frames.artefacts.strip import Strip

_ROUNDING: Final = np.float32(0.5)  # levels that don't count
_LARGEST: Final = np.float32(0.25)  # of an edge's height: what swings farther isn't ringing
_LEAST_ZONE: Final = 0.1  # of a cell: a smaller zone beside an edge doesn't count
_LEAST_AWAY: Final = 0.01  # of an area: less is too little to know the noise by
_FEWEST: Final = 0.05  # share of the picture's cells that a figure is the mean of, at least


class Ringing:
    name = "ringing"
    anchors = Anchors(0.4, 1.2, 3.6, 12.0)  # levels beyond the reference beside edges, root mean square

    def gather(self, strip: Strip) -> Figures | None:
        if min(strip.grid.width, strip.grid.height) < 16:
            return None
        luma, around = strip.luma, strip.around
        swung = luma.dis - strip.offsets  # a brighter area doesn't ring
        beyond = np.maximum(swung - around.high, around.low - swung)
        beyond -= _ROUNDING
        np.maximum(beyond, 0, out=beyond)
        edges = around.edges
        swings = np.minimum(beyond, _LARGEST * (around.high - around.low)) * edges
        beyond *= 1 - edges
        return strip.means(swings * swings), strip.means(beyond * beyond), strip.means(edges)

    def judge(self, gathered: Gathered) -> Measured | None:
        inside, outside, zone = gathered.figures
        # Noise swings as far where there is no edge, nearby or in the whole picture.
        away = 1 - zone
        nearby = smoothed(outside) / np.maximum(smoothed(away), np.float32(_LEAST_AWAY))
        floor = np.maximum(nearby, outside.sum() / max(away.sum(), np.float32(_LEAST_AWAY * zone.size)))
        edged = zone >= _LEAST_ZONE
        beyond = np.where(edged, np.maximum(inside - floor * zone, 0), np.float32(0))
        cells = np.sqrt(beyond / np.maximum(zone, np.float32(_LEAST_ZONE)))
        return Measured(worst(cells, max(_FEWEST, WORST * float(edged.mean()))), cells)
