"""Picks the worst frames of a clip, spread out, so that one glitch doesn't fill all places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# What a second counts for where no frame rate is known, as in raw video.
FRAMES_A_SECOND: Final = 25
_SLACK: Final = 1e-6  # seconds: times are rounded
_DECIMALS: Final = 6  # of scores: those that differ by less are equal


class Pick(NamedTuple):
    """A frame that was picked."""

    frame: int
    time: float | None  # seconds; None: no rate is known
    score: float


class Picked(NamedTuple):
    """The frames that were picked, the worst first, and whether their distance is one in seconds."""

    picks: list[Pick]
    timed: bool


def pick(
    frames: Sequence[int],
    scores: NDArray[np.float64],
    n: int,
    apart: float,
    time_of: Callable[[int], float | None],
    differences: Mapping[int, float] | None = None,
) -> Picked:
    """The `n` lowest frames, each at least `apart` seconds from all that are worse.

    Frames without a finite score are left out. Of equal scores the frame with the greater difference from its
    reference comes first, where `differences` are known, and then the earlier one; frames without a
    difference are left out. There may be fewer than `n`. If the time of a frame isn't known, a second is
    taken for FRAMES_A_SECOND frames.
    """
    times = [time_of(frame) for frame in frames]
    timed = None not in times
    places = np.asarray(times if timed else np.asarray(frames, np.float64) / FRAMES_A_SECOND, np.float64)
    left = np.isfinite(scores)
    order = np.argsort(np.where(left, scores, np.inf), kind="stable")
    if differences is not None:
        off = np.array([differences[int(frame)] for frame in frames], np.float64)
        left &= off > 0
        order = np.lexsort((-off, np.round(np.where(left, scores, np.inf), _DECIMALS)))
    picks: list[Pick] = []
    for at in order:
        if len(picks) == n:
            break
        if left[at]:
            picks.append(Pick(int(frames[at]), times[at], float(scores[at])))
            left[at] = False
            left[np.abs(places - places[at]) < apart - _SLACK] = False
    return Picked(picks, timed)


def tied(scores: NDArray[np.float64], picks: Sequence[Pick]) -> int:
    """How many frames share a score with another where that decides what is picked; 0: none."""
    rounded = np.round(scores, _DECIMALS)
    alike = [int((rounded == round(score, _DECIMALS)).sum()) for score in {pick.score for pick in picks}]
    return sum(number for number in alike if number > 1)


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` numbers from 0 on, evenly spread, in the middle of equal parts."""
    parts = min(count, most)
    return [(2 * part + 1) * count // (2 * parts) for part in range(parts)]
