"""The scores of one model over a measurement: one frame on demand, or many at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acuity.errors import ScoreError
from acuity.measure.collector import Collector

if TYPE_CHECKING:
    from acuity.models.inputs import AnyModel


class Prediction:
    """A model and its scores, which are predicted on first use and then kept.

    Scores are kept for each model, whichever frames it is reported for. So a model that is swapped in again,
    or assigned to earlier frames, finds its scores, and no thread can overwrite another model's.
    """

    def __init__(self, model: AnyModel, features: Collector, origin: object | None = None) -> None:
        self.model = model
        self.origin = model if origin is None else origin  # the requested model
        self.outputs = model.output_names()
        self.extractors = tuple(model.make_extractors())
        self.inputs = model.feature_keys()
        self._features = features
        self._scores = Collector()
        self._scores.declare(self.outputs)

    def at(self, index: int, output: str) -> float | None:
        """One frame's score, or None while a feature it needs is missing."""
        known = self._scores.get(output, index)
        if known is not None:
            return known
        row = self._features.row(self.inputs, index)
        if row is None:
            return None
        scores = self.model.outputs(np.array([row]))
        self._scores.write(index, {name: float(values[0]) for name, values in scores.items()})
        return float(scores[output][0])

    def fill(self, wanted: NDArray[np.bool_], begin: int = 0) -> None:
        """Predict at once all wanted frames that have their features and no score yet.

        `wanted` begins with frame `begin`.
        """
        length = begin + len(wanted)
        features, ready = self._features.table(self.inputs, length, begin)
        _, scored = self._scores.table(self.outputs, length, begin)
        missing = np.flatnonzero(ready & wanted & ~scored)
        if len(missing):
            self._scores.write_all(missing + begin, self.model.outputs(features[missing]))

    def check(self, index: int, output: str, score: float) -> None:
        """Raise ScoreError if the score of a frame is not a finite number."""
        if math.isfinite(score):
            return
        row = self._features.row(self.inputs, index) or []
        hidden = {key for extractor in self.extractors for key in extractor.hidden_keys()}  # the model's own
        figures = zip(self.inputs, row, strict=False)
        bad = [key for key, value in figures if not math.isfinite(value) and key not in hidden]
        why = (
            f"its {bad[0]} is none either"
            if bad
            else "the picture is of one colour or noise, which it can't judge"
            if self.model.selective
            else "the model's arithmetic goes beyond all bounds, so check its file"
        )
        raise ScoreError(
            f"the score '{output}' of frame {index} by '{self.model.label}' is not a number: {why}"
        )

    def check_all(self, first: int, stop: int, output: str) -> None:
        """Raise ScoreError for the first of these frames whose score exists and is not a finite number."""
        scores, there = self._scores.table([output], stop)
        wrong = np.flatnonzero(there[first:] & ~np.isfinite(scores[first:, 0]))
        if len(wrong):
            index = first + int(wrong[0])
            self.check(index, output, float(scores[index, 0]))

    def column(self, output: str, length: int) -> NDArray[np.float64]:
        """The first scores; NaN if missing."""
        return self._scores.column(output, length)

    def infinite(self, output: str, length: int) -> NDArray[np.bool_]:
        """Which of the first scores exist and are not a finite number."""
        scores, there = self._scores.table([output], length)
        found: NDArray[np.bool_] = there & ~np.isfinite(scores[:, 0])
        return found
