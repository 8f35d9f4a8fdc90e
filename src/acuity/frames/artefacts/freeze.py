"""Freeze: the distorted picture stays as it was while the reference moves."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors
from acuity.frames.artefacts.strip import Strip

_MOVES: Final = 0.5  # levels that a cell changes by if it moves
_LEAST_MOVING: Final = 0.01  # share of cells
_STILL: Final = 0.12  # share of the reference's motion that a frozen picture may have


class Freeze:
    name = "freeze"
    anchors = Anchors(0.15, 0.5, 1.0, 6.0)  # levels, without fine detail, that the reference moves by

    def gather(self, strip: Strip) -> Figures | None:
        motion = strip.motion
        if motion is None or min(strip.grid.width, strip.grid.height) < 16:
            return None
        return strip.means(motion.ref, 2), strip.means(motion.dis, 2)

    def judge(self, gathered: Gathered) -> Measured | None:
        ref, dis = gathered.figures
        moving = ref > _MOVES
        none = Measured(0.0, np.zeros_like(ref))
        if moving.mean() < _LEAST_MOVING or dis[moving].sum() > _STILL * ref[moving].sum():
            return none
        cells = np.where(moving, np.maximum(ref - dis, 0), np.float32(0))
        return Measured(float(cells[moving].mean()), cells)
