"""Blur: detail of the reference that the distorted picture lacks."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors, worst
from acuity.frames.artefacts.strip import Strip

_FAINT: Final = 1.0  # levels of detail, in all octaves together, that would hardly be missed


class Blur:
    name = "blur"
    anchors = Anchors(0.06, 0.16, 0.40, 0.80)  # share of the detail that is lost

    def gather(self, strip: Strip) -> Figures | None:
        if len(strip.details) < 1:
            return None
        ref, dis = strip.means(strip.details[0].ref), strip.means(strip.details[0].dis)
        for octave, detail in enumerate(strip.details[1:], 1):
            ref += strip.means(detail.ref, octave)
            dis += strip.means(detail.dis, octave)
        return ref, dis

    def judge(self, gathered: Gathered) -> Measured | None:
        ref, dis = gathered.figures
        cells = np.maximum(ref - dis, 0) / (ref + np.float32(_FAINT))
        return Measured(worst(cells), cells)
