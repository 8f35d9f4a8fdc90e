"""Ringing: the picture swings beyond the tones of the reference beside its edges."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import WORST, Anchors, worst
from acuity.frames.artefacts.strip import Strip

_ROUNDING: Final = np.float32(0.5)  # levels that don't count
_LARGEST: Final = np.float32(0.25)  # of an edge's height: what swings farther isn't ringing
_LEAST_ZONE: Final = 0.1  # of a cell: a smaller zone beside an edge doesn't count
_FEWEST: Final = 0.05  # share of the picture's cells that a figure is the mean of, at least


class Ringing:
    name = "ringing"
    anchors = Anchors(0.4, 1.2, 3.6, 12.0)  # levels beyond the reference beside edges, root mean square

    def gather(self, strip: Strip) -> Figures | None:
        if min(strip.grid.width, strip.grid.height) < 16:
            return None
        luma, around = strip.luma, strip.around
        beyond = np.maximum(luma.dis - around.high, around.low - luma.dis)
        beyond -= _ROUNDING
        np.maximum(beyond, 0, out=beyond)
        edges = around.edges
        swings = np.minimum(beyond, _LARGEST * (around.high - around.low)) * edges
        beyond *= 1 - edges
        return strip.means(swings * swings), strip.means(beyond * beyond), strip.means(edges)

    def judge(self, gathered: Gathered) -> Measured | None:
        inside, outside, zone = gathered.figures
        # Noise swings as far where there is no edge.
        floor = float(np.sum(outside)) / max(float(np.sum(1 - zone)), 0.01 * zone.size)
        edged = zone >= _LEAST_ZONE
        beyond = np.where(edged, np.maximum(inside - np.float32(floor) * zone, 0), np.float32(0))
        cells = np.sqrt(beyond / np.maximum(zone, np.float32(_LEAST_ZONE)))
        return Measured(worst(cells, max(_FEWEST, WORST * float(edged.mean()))), cells)
