"""Regular lines of the reference itself: bars, fences and windows, which aren't blocks."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.frames.artefacts.grid import Plane

_CELLS: Final = 5  # cells that a pattern is looked for in, the one in the middle being judged
_LEAST_LINES: Final = 6
_TIMES: Final = (1, 2, 3)  # lines of the grid in one period of the pattern
_SHARE: Final = 0.1  # of the lines may lack an edge; in texture, many more do


def own_lines(profiles: Plane, first: int, period: float, starts: list[int]) -> Plane:
    """How far the reference's steps stand out at the distance of a grid's lines, at any phase, in each cell.

    The first axis of the profiles is the one of the lines. A pattern that was moved or blurred has its steps
    at other phases than the reference, so all of them are tried; and a grid can have several lines in each
    of its periods.
    """
    found = np.zeros((len(starts), profiles.shape[1]), np.float32)
    for times in _TIMES:
        for phase in range(int(np.ceil(times * period))):
            regular = _regular(profiles, first + phase, times * period, starts)
            if regular is not None:
                np.maximum(found, regular / np.float32(times), out=found)
    # A pattern may reach into the cells beside it, too little to be seen there.
    beside = np.pad(found, ((0, 0), (1, 1)))
    return np.maximum(found, np.maximum(beside[:, :-2], beside[:, 2:]))


def _regular(profiles: Plane, first: int, period: float, starts: list[int]) -> Plane | None:
    """What most lines around each cell have at least; None if there are too few lines."""
    count = int((profiles.shape[0] - 1 - first) / period) + 1
    if count < _LEAST_LINES:
        return None
    lines = profiles[np.rint(first + period * np.arange(count)).astype(np.intp)]
    ends = [*starts[1:], profiles.shape[0]]
    window = min(count, max(_LEAST_LINES, round(_CELLS * (ends[0] - starts[0]) / period)))
    middles = (np.asarray(starts) + np.asarray(ends)) / 2
    begins = np.rint((middles - first) / period - window / 2).astype(np.intp)
    around = lines[np.clip(begins, 0, count - window)[:, None] + np.arange(window)]
    place = int(_SHARE * (window - 1))
    return np.asarray(np.partition(around, place, axis=1)[:, place], np.float32)
