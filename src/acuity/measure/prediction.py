"""Scores of one model over a measurement: on demand for one frame, at once for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from acuity.measure.collector import Collector

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection


class Prediction:
    """A model's score columns in a collector, predicted when asked for and then kept there."""

    def __init__(self, model: Model | ModelCollection, collector: Collector) -> None:
        self.model = model
        self.outputs = model.output_names()
        self._inputs = model.feature_keys()
        self._collector = collector

    def at(self, index: int, output: str) -> float | None:
        """One frame's score, or None while a feature it needs is missing."""
        known = self._collector.get(output, index)
        if known is not None:
            return known
        row = self._collector.row(self._inputs, index)
        if row is None:
            return None
        scores = self.model.outputs(np.array([row]))
        self._collector.write(index, {name: float(values[0]) for name, values in scores.items()})
        return float(scores[output][0])

    def fill(self, length: int, subsample: int) -> None:
        """Predict every frame that has its features and no score yet, in one go."""
        features, ready = self._collector.table(self._inputs, length)
        _, scored = self._collector.table(self.outputs, length)
        counted = np.zeros(length, bool)
        counted[::subsample] = True
        missing = np.flatnonzero(ready & counted & ~scored)
        if len(missing):
            self._collector.write_all(missing, self.model.outputs(features[missing]))
