"""Colour shift and brightness shift: areas whose mean chroma or luma isn't the reference's."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import smoothed
from acuity.frames.artefacts.measure import Figures, Gathered, Measured
from acuity.frames.artefacts.severity import Anchors, worst
from acuity.frames.artefacts.strip import Strip
from acuity.video.picture import LAYOUTS

_SMALL: Final = 0.01  # share of cells: an object of another colour
_LESS: Final = 0.5  # weight of a shift of an object, beside one of a large area


class ColourShift:
    name = "colour shift"
    anchors = Anchors(1.5, 4.0, 10.0, 30.0)  # levels of chroma

    def gather(self, strip: Strip) -> Figures | None:
        return ()

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


class BrightnessShift:
    name = "brightness shift"
    anchors = Anchors(2.0, 6.0, 18.0, 50.0)  # levels of luma

    def gather(self, strip: Strip) -> Figures | None:
        return ()

    def judge(self, gathered: Gathered) -> Measured | None:
        cells = np.abs(smoothed(gathered.dis_means - gathered.ref_means))
        return Measured(worst(cells), cells)
