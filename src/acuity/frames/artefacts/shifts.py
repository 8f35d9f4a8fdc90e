"""Shifts of colour and brightness, changes of contrast: areas whose mean chroma or luma is another."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.cells import Plane, smoothed
from acuity.frames.artefacts.findings import Anchors, worst
from acuity.frames.artefacts.measure import Gathered, Measure, Measured
from acuity.video.picture import LAYOUTS

_SMALL: Final = 0.01  # share of cells: an object of another colour
_EVEN: Final = 36.0  # squared levels: the variance of tones below which contrast isn't known
_CONTRASTS: Final = (0.84, 1.2)  # slopes between them are those of wrong ranges, too
_MIDDLE: Final = (40, 215)  # levels: a fade, or light that is brighter, leaves black or white as it is
_LEFT: Final = 0.15  # of a change of contrast: what may differ from a straight line
_LESS: Final = 0.5  # weight of a shift of an object, beside one of a large area


class ColourShift(Measure):
    name = "colour shift"
    anchors = Anchors(1.5, 4.0, 10.0, 30.0)  # levels of chroma

    def judge(self, gathered: Gathered) -> Measured | None:
        frame, grid = gathered.frame, gathered.grid
        shift = LAYOUTS[frame.ref.format.layout]
        if shift is None or min(min(plane.shape) for plane in frame.ref.planes) == 0:
            return None
        off = np.zeros(grid.shape, np.float32)
        for ref, dis in zip(frame.ref.planes[1:], frame.dis.planes[1:], strict=True):
            moved = grid.means(dis, shift) - grid.means(ref, shift)
            # A shift is what neighbouring cells share, and coding errors aren't.
            off += np.square(smoothed(moved / np.float32(frame.level)))
        cells = np.sqrt(off)
        figure, small = worst(cells), worst(cells, _SMALL)
        if small >= self.anchors.visible > figure and figure < _LESS * small:
            # An object whose colour is clearly another is seen, however small: only it is looked at.
            return Measured(_LESS * small, np.where(cells >= _LESS * small, cells, np.float32(0)))
        return Measured(figure, cells)


class ContrastChange(Measure):
    name = "contrast change"
    anchors = Anchors(2.0, 6.0, 18.0, 50.0)  # levels of luma, by which tones are nearer to a middle one

    def judge(self, gathered: Gathered) -> Measured | None:
        cells = np.abs(_spread_change(gathered.ref_means, gathered.dis_means))
        return Measured(worst(cells), cells)


class BrightnessShift(Measure):
    name = "brightness shift"
    anchors = Anchors(2.0, 6.0, 18.0, 50.0)  # levels of luma

    def judge(self, gathered: Gathered) -> Measured | None:
        moved = gathered.dis_means - gathered.ref_means
        cells = np.abs(smoothed(moved - _spread_change(gathered.ref_means, gathered.dis_means)))
        return Measured(worst(cells), cells)


def _spread_change(ref: Plane, dis: Plane) -> Plane:
    """How far a change of contrast moves each cell; 0 if something else changed."""
    tones, shown = ref - ref.mean(), dis - dis.mean()
    power = float(np.vdot(tones, tones))
    slope = float(np.vdot(tones, shown)) / power if power > _EVEN * tones.size else 1.0
    if _CONTRASTS[0] < slope < _CONTRASTS[1]:
        return np.zeros_like(ref)
    middle = (float(dis.mean()) - slope * float(ref.mean())) / (1 - slope)  # the tone that stays as it is
    change = np.float32(slope - 1) * (ref - np.float32(middle))
    left = dis - ref - change
    straight = float(np.vdot(left, left)) <= _LEFT * float(np.vdot(change, change))
    return change if straight and _MIDDLE[0] < middle < _MIDDLE[1] else np.zeros_like(ref)
