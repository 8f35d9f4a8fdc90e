"""Bootstrap collections: models trained on resampled data, whose spread gives a confidence interval."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from acuity.models.inputs import ModelFeature, ReadsFeatures
from acuity.models.model import Columns, Model, as_matrix

Array = NDArray[np.float64]

_STATISTICS = ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")
# Half the step over which the slope of the transform is taken, to carry the deviation through it.
_DELTA = 0.01


def member_name(name: str, number: int) -> str:
    """The column of a member's scores; the base model is number 0 and has the collection's name."""
    return f"{name}_{number:04d}" if number else name


@dataclass(frozen=True, eq=False)
class ModelCollection(ReadsFeatures):
    """The base model, trained on all data, and its bootstrap members."""

    name: str
    label: str
    path: Path
    base: Model
    members: tuple[Model, ...]
    options: str = ""  # the changed options, in the notation of --model

    def __repr__(self) -> str:
        return f"<ModelCollection {self.label}: {self.name!r} and {len(self.members)} bootstrap models>"

    @property
    def kind(self) -> str:
        return self.members[0].kind

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.base, *self.members)

    @property
    def features(self) -> tuple[ModelFeature, ...]:
        """The features of all models, each once, in the order of first appearance."""
        found: list[ModelFeature] = []
        for model in self.models:
            found.extend(feature for feature in model.features if feature not in found)
        return tuple(found)

    def predict(self, columns: Columns) -> dict[str, Array]:
        """The base score, the members' scores, then bagging, deviation and 95 % interval: libvmaf's order."""
        features = self.features
        values = as_matrix(columns, len(features))
        raw = np.empty((len(values), len(self.members)))
        result = {self.base.name: self.base.predict(_select(values, features, self.base))}
        for index, member in enumerate(self.members):
            raw[:, index] = member.predict_raw(_select(values, features, member))
            result[member.name] = member.finish(raw[:, index])
        for statistic, scores in zip(_STATISTICS, self._statistics(raw), strict=True):
            result[f"{self.name}_{statistic}"] = scores
        return result

    def outputs(self, columns: Columns) -> dict[str, Array]:
        """The score columns by name, as Model.outputs gives them."""
        return self.predict(columns)

    def output_names(self) -> list[str]:
        statistics = (f"{self.name}_{statistic}" for statistic in _STATISTICS)
        return [*(model.name for model in self.models), *statistics]

    def renamed(self, name: str) -> Self:
        """The collection under another name."""
        base, *members = (
            model.renamed(member_name(name, number)) for number, model in enumerate(self.models)
        )
        return replace(self, name=name, base=base, members=tuple(members))

    def _statistics(self, raw: Array) -> tuple[Array, Array, Array, Array]:
        """Statistics of the members' raw scores, after the first member's transform and clip."""
        count = raw.shape[1]
        finish = self.members[0].finish
        with np.errstate(all="ignore"):
            mean = _row_sums(raw) / count
            deviation = np.sqrt(_row_sums((raw - mean[:, np.newaxis]) ** 2) / count)
            ordered = np.sort(raw, axis=1)
            slope = (finish(mean + _DELTA) - finish(mean - _DELTA)) / (2.0 * _DELTA)
            low, high = (finish(_percentile(ordered, percent)) for percent in (2.5, 97.5))
            return finish(mean), deviation * slope, low, high


def _select(values: Array, features: tuple[ModelFeature, ...], model: Model) -> Array:
    return values[:, [features.index(feature) for feature in model.features]]


def _row_sums(values: Array) -> Array:
    """Sums from left to right, unlike numpy's pairwise sum()."""
    sums: Array = np.add.accumulate(values, axis=1)[:, -1]
    return sums


def _percentile(ordered: Array, percent: float) -> Array:
    position = percent * (ordered.shape[1] - 1) / 100.0
    left, right = math.floor(position), math.ceil(position)
    scores: Array = ordered[:, left]
    if left != right:
        scores = scores * (right - position) + ordered[:, right] * (position - left)
    return scores
