"""What a measure of an artefact is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.grid import Grid, Plane
from acuity.frames.artefacts.severity import Anchors
from acuity.frames.artefacts.strip import Strip

Figures = tuple[NDArray[np.float32], ...]  # first axis: rows of cells, or rows of samples


class Gathered(NamedTuple):
    """What a measure judges by: the frame, its cells, their mean lumas, and the figures of all strips."""

    frame: ExaminedFrame
    grid: Grid
    ref_means: Plane
    dis_means: Plane
    figures: Figures


class Measured(NamedTuple):
    """A figure for the picture, in the measure's unit, and one for each cell."""

    figure: float
    cells: Plane


class Measure(Protocol):
    """Measures one artefact: figures of strips first, then a judgement of all of them."""

    name: str
    anchors: Anchors

    def gather(self, strip: Strip) -> Figures | None:
        """Figures of a strip; None if the picture is too small or something else is missing."""
        ...

    def judge(self, gathered: Gathered) -> Measured | None:
        """How bad it is; None if this can't be measured here."""
        ...
