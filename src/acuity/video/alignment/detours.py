"""Detours: short stretches of another lag, or of one picture, between frames that match.

One frame lost and another one doubled soon after leave videos of one length, whose frames between are one
apart: too few for a lag of the whole, and at low quality no frame shows it alone. So the frames' gains by a
lag are added up: the sum grows while frames share that lag, and falls where they don't.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.video.alignment.faults import Misalignment
from acuity.video.alignment.matching import FLOOR

Figures = NDArray[np.float64]

# Lags of a detour. Larger lags behind are left out: low quality looks like them, and they are found
# elsewhere.
_LAGS: Final = np.array([-2, -1, 1, 2, 3, 4])
# Encoders that code little show earlier frames for a while, never later ones: so a frame must gain this much
# by a lag behind.
_BEHIND: Final = 0.25
_SURE: Final = (
    4.0  # the least gain of a detour that has ended; encodes of the right frames reach half of that
)
_LIKELY: Final = 2.5  # the same for the largest detour, when no more frames come
_STILL: Final = 4  # the least number of frames that repeat the one before them; encoders repeat fewer
_STANDS: Final = 1.0  # the least gain of each such frame but the first by the frame that it repeats


class _Run(NamedTuple):
    """Frames in a row that gain by one lag."""

    gain: float
    lag: int
    first: int
    end: int


class Detours:
    """Takes the errors of frames at all lags, and remembers the largest detour and the longest freeze."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._sums = np.zeros(len(_LAGS))  # what the frames up to the last one gain, by lag, at least 0
        self._firsts = np.zeros(len(_LAGS), np.intp)  # the frame at which each of these sums begins
        self._best = _Run(0.0, 0, 0, 0)
        self._last = np.zeros((0, 2 * reach + 1))  # gains of the last frames
        self._still = self._longest = (0, 0)  # the first and the end of the last freeze, and of the longest

    def add(self, first: int, error: Figures, smooth: Figures) -> Misalignment | None:
        """Take in the errors of the frames from `first` on, by lag; `smooth` are those of coarse cells."""
        gain = np.minimum(_gains(np.maximum(error - smooth, 0.0), self._reach), _gains(error, self._reach))
        self._watch_stills(first, gain)
        self._follow(first, gain)
        best = self._best
        over = best.gain >= _SURE and float(self._sums.max()) < 1.0
        return _detour(best) if over else None

    def end(self) -> Misalignment | None:
        """The largest detour or the longest freeze, once there are no more frames."""
        if self._best.gain >= _LIKELY:
            return _detour(self._best)
        first, end = self._longest
        return Misalignment("frozen", first, 0, end - first) if end > first else None

    def _follow(self, first: int, gain: Figures) -> None:
        """Add up what frames gain by each lag but 0, as long as the sum isn't negative."""
        each = gain[:, self._reach + _LAGS]
        each -= gain.max(axis=1, keepdims=True) - each  # a lag that isn't the best one is worth less
        each = np.clip(each, -1.0, 1.0) - np.where(_LAGS < 0, _BEHIND, 0.0)
        for frame, row in enumerate(each, first):
            self._firsts[self._sums <= 0.0] = frame
            self._sums = np.maximum(self._sums + row, 0.0)
            which = int(self._sums.argmax())
            if self._sums[which] > self._best.gain:
                gained, lag = float(self._sums[which]), int(_LAGS[which])
                self._best = _Run(gained, lag, int(self._firsts[which]), frame + 1)

    def _watch_stills(self, first: int, gain: Figures) -> None:
        """Look for freezes: frames that all show the frame before the first of them, and so have no lag."""
        known = np.r_[self._last, gain]
        start = first - len(self._last)
        later = [known[k - 2 : len(known) - _STILL + k, self._reach - k] for k in range(2, _STILL + 1)]
        self._last = known[max(len(known) - _STILL + 2, 0) :]
        for row in np.flatnonzero(np.min(later, axis=0) >= _STANDS):
            begin, end = start + int(row) - 1, start + int(row) + _STILL - 1
            self._still = (self._still[0] if begin <= self._still[1] else begin, end)
            self._longest = max(self._longest, self._still, key=lambda still: still[1] - still[0])
            gain[max(begin - first, 0) : max(end - first, 0)] = 0.0


def _detour(run: _Run) -> Misalignment:
    return Misalignment("detour", run.first, run.lag, run.end - run.first)


def _gains(error: Figures, reach: int) -> Figures:
    """The gain of each frame by each lag over lag 0, in units of its least error."""
    least = np.maximum(error.min(axis=1, keepdims=True), FLOOR)
    gains: Figures = (error[:, reach, None] - error) / least
    return gains
