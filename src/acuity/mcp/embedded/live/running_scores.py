"""The scores known so far, of all frames up to the newest that have one, and their pools.

Each frame is read once, so asking a thousand times a second costs no more than asking once. Sums are made in
the report's order, and give its digits.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import NoFramesError, NotReady, ScoreError
from acuity.measure.measurement import Measurement

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

    def __len__(self) -> int:
        return len(self._scores)

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
    def first(self) -> int | None:
        return self._frames[0] if self._frames else None

    @property
    def last(self) -> int | None:
        return self._frames[-1] if self._frames else None

    @property
    def aggregate(self) -> dict[str, float] | None:
        """What the report's pools give for these frames."""
        count = len(self._scores)
        if not count:
            return None
        return {
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
