"""Severity: one scale from 0, none, to 1, extreme, for figures of every measure, and its words."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

JUST_VISIBLE: Final = 0.1
VISIBLE: Final = 0.3
SEVERE: Final = 0.6
_LADDER: Final = (0.0, JUST_VISIBLE, VISIBLE, SEVERE, 1.0)
_WORDS: Final = ((SEVERE, "severe"), (VISIBLE, "visible"), (JUST_VISIBLE, "slight"))
WORST: Final = 0.2  # share of cells, the worst, that a figure of the picture is the mean of


# What a score of VMAF allows the worst artefact that it measures to be: at least, and at most.
_SCORES: Final = (20.0, 40.0, 70.0, 85.0, 93.0, 100.0)
_AT_LEAST: Final = (0.8, SEVERE, VISIBLE, JUST_VISIBLE, 0.0, 0.0)
_AT_MOST: Final = (1.0, 1.0, SEVERE, 0.4, 0.29, JUST_VISIBLE)


class Anchors(NamedTuple):
    """The figures of a measure that are just visible, visible, severe and extreme to a viewer."""

    just_visible: float
    visible: float
    severe: float
    extreme: float

    def severity(self, figure: float) -> float:
        return float(np.interp(figure, (0.0, *self), _LADDER))


def in_keeping(severity: float, score: float) -> float:
    """The severity of a frame's worst artefact, as near to what was measured as its score allows."""
    return float(np.clip(severity, np.interp(score, _SCORES, _AT_LEAST), np.interp(score, _SCORES, _AT_MOST)))


def word(severity: float) -> str:
    """The word for a severity that is at least just visible."""
    return next((text for least, text in _WORDS if severity >= least), "invisible")


def worst(cells: NDArray[np.float32], share: float = WORST) -> float:
    """The mean of the worst cells."""
    count = max(1, round(cells.size * share))
    return float(np.partition(cells, cells.size - count, axis=None)[-count:].mean())
