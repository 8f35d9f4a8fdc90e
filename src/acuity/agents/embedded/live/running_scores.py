"""The scores known so far, of all frames up to the newest that have one, their pools and the lowest of them.

Each frame is read once, so asking a thousand times a second costs no more than asking once. Sums are made in
the report's order, and give its digits.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import NoFramesError, NotReady, ScoreError
from acuity.measure.measurement import Measurement
from acuity.measure.pooling import POOLS, percentiles

# From so many frames on all columns are read at once, rather than one score after the other; but that takes
# the longer the more there were before, so only where a quarter of all is new.
_MANY: Final = 64
_NEW: Final = 4


class RunningScores:
    """The scores of one model of a measurement. For one thread."""

    def __init__(self, measurement: Measurement, name: str) -> None:
        self.name: Final = name
        self._measurement = measurement
        self._restart()

    def _restart(self) -> None:
        self._claims = self._measurement.repredictions
        self._frames = array("q")
        self._scores = array("d")
        self._next = 0  # the frame to look at
        self._sum = 0.0
        self._inverse = 0.0  # sum of 1 / (score + 1)
        self._min = math.inf
        self._max = -math.inf

    def advance(self) -> None:
        """Read the frames that were scored since the last call."""
        while True:
            if self._claims != self._measurement.repredictions:
                self._restart()
            new = self._measurement.snapshot().frames_done - self._next
            if new > max(_MANY, self._next // _NEW):
                self._take_many()
            elif new > 1:  # at once, which takes a tenth of the time that each by itself would
                self._measurement.predict_known(self._next)
            self._take_each()
            if self._claims == self._measurement.repredictions:
                return

    @property
    def newest(self) -> tuple[int, float] | None:
        """The last frame, and its score."""
        return (self._frames[-1], self._scores[-1]) if self._frames else None

    @property
    def aggregate(self) -> dict[str, Any] | None:
        """The range of these frames, and what the report's pools give for them."""
        if not (count := len(self._scores)):
            return None
        return {
            "first": self._frames[0],
            "last": self._frames[-1],
            "frames": count,
            "min": self._min,
            "max": self._max,
            "mean": self._sum / count,
            "harmonic_mean": count / self._inverse - 1.0 if self._inverse else math.inf,
        }

    def since(self, frame: int, most: int | None = None) -> tuple[list[int], list[float]]:
        """The frames from this one on, so many at most, and their scores."""
        start = bisect_left(self._frames, frame)
        stop = None if most is None else start + most
        return self._frames[start:stop].tolist(), self._scores[start:stop].tolist()

    def column(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Frames and scores, as copies."""
        return np.array(self._frames, np.int64), np.array(self._scores, np.float64)

    def _take_each(self) -> None:
        fed = self._measurement.frames
        while (frame := self._measurement.next_counted(self._next)) < fed:
            try:
                score = self._measurement.score_at(frame, self.name)
            except NotReady:
                return
            except ScoreError:  # it has no score, and never will: a model can't judge a blank picture
                self._next = frame + 1
            else:
                self._take(frame, score)

    def _take_many(self) -> None:
        try:
            results = self._measurement.results(partial=True)
        except NoFramesError:
            return
        for frame, score in zip(results.frames, results.columns[self.name].tolist(), strict=True):
            if frame < self._next:
                continue
            if math.isnan(score):  # not yet, or never: _take_each() tells which
                return
            self._take(frame, score)

    def _take(self, frame: int, score: float) -> None:
        self._frames.append(frame)
        self._scores.append(score)
        self._next = frame + 1
        self._sum += score
        self._inverse += 1.0 / (score + 1.0) if score != -1.0 else math.inf
        self._min = min(self._min, score)
        self._max = max(self._max, score)


def lowest(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """The places of the lowest values, in their order; of equal ones the first."""
    candidates = np.arange(len(values))
    if len(values) > 4 * count:  # to sort all of a film takes ten times as long
        candidates = np.flatnonzero(values <= np.partition(values, count)[count])
    return candidates[np.argsort(values[candidates], kind="stable")[:count]]


def lowest_places(
    frames: NDArray[np.int64], values: NDArray[np.float64], count: int, apart: int
) -> list[int]:
    """The lowest value, then the lowest of those so many frames away from it, and so on."""
    left = values.copy()
    found: list[int] = []
    while len(found) < count:
        place = int(np.argmin(left))
        if left[place] == np.inf:  # all are taken, or near to one that is
            break
        found.append(place)
        near = np.searchsorted(frames, [frames[place] - apart + 1, frames[place] + apart])
        left[near[0] : near[1]] = np.inf
    return found


def pooled(
    frames: NDArray[np.int64], values: NDArray[np.float64], percents: Sequence[float]
) -> dict[str, Any]:
    found: dict[str, Any] = {"first": int(frames[0]), "last": int(frames[-1]), "frames": len(frames)}
    found |= {method: function(values) for method, function in POOLS.items()}
    if percents:
        values_at = percentiles(values, percents)
        found["percentiles"] = {f"p{p:g}": value for p, value in zip(percents, values_at, strict=True)}
    return found
