"""Picks the worst frames of a clip, spread out, so that one glitch doesn't fill all places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# What a second counts for where no frame rate is known, as in raw video.
FRAMES_A_SECOND: Final = 25
_SLACK: Final = 1e-6  # seconds: times are rounded


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
) -> Picked:
    """The `n` lowest frames, each at least `apart` seconds from all that are worse.

    Frames without a finite score are left out. Of equal scores the earlier frame comes first. There may be
    fewer than `n`. If the time of a frame isn't known, a second is taken for FRAMES_A_SECOND frames.
    """
    times = [time_of(frame) for frame in frames]
    timed = None not in times
    places = np.asarray(times if timed else np.asarray(frames, np.float64) / FRAMES_A_SECOND, np.float64)
    left = np.where(np.isfinite(scores), scores, np.inf)
    picks: list[Pick] = []
    while len(picks) < n and len(left):
        at = int(np.argmin(left))
        if left[at] == np.inf:
            break
        picks.append(Pick(int(frames[at]), times[at], float(left[at])))
        left[at] = np.inf
        left[np.abs(places - places[at]) < apart - _SLACK] = np.inf
    return Picked(picks, timed)


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` numbers from 0 on, evenly spread, in the middle of equal parts."""
    parts = min(count, most)
    return [(2 * part + 1) * count // (2 * parts) for part in range(parts)]
