"""One model: predicts scores from feature values, in libvmaf's order of arithmetic.

Feature values are scaled to the SVM's range, with a correction of chroma, and its output to a score. That is
transformed: polynomial, piecewise-linear map, rectification, then the clip.

A collection has models trained on resampled data, whose spread gives a confidence interval.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from acuity.models.inputs import ModelFeature, ReadsFeatures
from acuity.models.svm import SupportVectorRegression

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearRescale:
    """value * slope + intercept on the way in, the inverse on the way out; slopes of 1 for norm_type none."""

    score_slope: float
    score_intercept: float
    slopes: Array
    intercepts: Array
    norm_type: str = "linear_rescale"

    def normalise(self, features: Array) -> Array:
        return self.slopes * features + self.intercepts

    def restore_feature(self, index: int, nodes: Array) -> Array:
        result: Array = (nodes - self.intercepts[index]) / self.slopes[index]
        return result

    def restore_score(self, decisions: Array) -> Array:
        return (decisions - self.score_intercept) / self.score_slope


class ChromaCorrection(NamedTuple):
    """VMAF v1: replaces a chroma feature of exactly 0 by an estimate from a luma feature.

    Both values are restored from the normalised inputs, as in libvmaf, and not taken from the features: the
    rounding of the round trip is visible in the score.
    """

    parameter: float
    luma: int
    chroma: int

    def apply(self, nodes: Array, scaling: LinearRescale) -> None:
        """Correct the normalised inputs in place."""
        missing = scaling.restore_feature(self.chroma, nodes[:, self.chroma]) == 0.0
        luma = scaling.restore_feature(self.luma, nodes[:, self.luma])
        guess = (-self.parameter * luma) + self.parameter
        guess = scaling.slopes[self.chroma] * guess + scaling.intercepts[self.chroma]
        nodes[:, self.chroma] = np.where(missing, guess, nodes[:, self.chroma])


class ScoreTransform(NamedTuple):
    """The stages before the clip; None as coefficient, or no knots, leaves a stage out."""

    p0: float | None = None
    p1: float | None = None
    p2: float | None = None
    knots: tuple[tuple[float, float], ...] = ()  # x rising, y not falling, at least two when given
    out_lte_in: bool = False
    out_gte_in: bool = False

    def apply(self, scores: Array) -> Array:
        result = self._map_knots(self._polynomial(scores))
        if self.out_lte_in:
            result = np.where(result > scores, scores, result)
        if self.out_gte_in:
            result = np.where(result < scores, scores, result)
        return result

    def _polynomial(self, x: Array) -> Array:
        if self.p0 is None and self.p1 is None and self.p2 is None:
            return x
        result = np.zeros_like(x)
        if self.p0 is not None:
            result += self.p0
        if self.p1 is not None:
            result += self.p1 * x
        if self.p2 is not None:
            result += self.p2 * x * x
        return result

    def _map_knots(self, x: Array) -> Array:
        """Straight lines through the knots, the outer ones extended; on a knot the right-hand line counts."""
        if not self.knots:
            return x
        result = x.copy()  # every finite x is on some line; NaN is on none and stays
        last = len(self.knots) - 2
        for index, (left, right) in enumerate(itertools.pairwise(self.knots)):
            slope, offset = _line(left, right)
            here = (left[0] <= x) & (x <= right[0])
            if index == 0:
                here |= x < left[0]
            if index == last:
                here |= x > right[0]
            result = np.where(here, offset if slope == 0.0 else slope * x + offset, result)
        return result


class ScoreClip(NamedTuple):
    low: float
    high: float

    def apply(self, scores: Array) -> Array:
        raised = np.where(scores < self.low, self.low, scores)
        return np.where(raised > self.high, self.high, raised)


def _line(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    """Slope and offset of the line through two knots, with libvmaf's roundings."""
    (x0, y0), (x1, y1) = left, right
    if y0 == y1:
        return 0.0, y0
    if x0 == 0:
        return (y1 - y0) / x1, y0
    slope = (y1 - y0) / (x1 - x0)
    return slope, y0 - x0 * slope


Columns = Mapping[int, Array] | Array


@dataclass(frozen=True, eq=False)
class Model(ReadsFeatures):
    """A loaded model; transform and clip are None if the file or the caller leaves them out."""

    name: str  # the column of its scores in reports
    label: str  # the version or path, for people
    path: Path
    kind: str  # the file's model_type
    features: tuple[ModelFeature, ...]
    svm: SupportVectorRegression
    scaling: LinearRescale
    transform: ScoreTransform | None = None
    clip: ScoreClip | None = None
    chroma: ChromaCorrection | None = None
    options: str = ""  # the changed options, in the notation of --model

    def __repr__(self) -> str:
        return f"<Model {self.label}: {self.name!r} from {len(self.features)} features>"

    def predict(self, columns: Columns) -> Array:
        """Array from feature values: an array (frames x features), or one column per feature index."""
        return self.finish(self.predict_raw(columns))

    def predict_raw(self, columns: Columns) -> Array:
        """Array before transform and clip."""
        values = as_matrix(columns, len(self.features))
        with np.errstate(all="ignore"):
            nodes = self.scaling.normalise(values)
            if self.chroma is not None:
                self.chroma.apply(nodes, self.scaling)
            return self.scaling.restore_score(self.svm.predict(nodes))

    def finish(self, scores: Array) -> Array:
        """Apply this model's transform and clip."""
        with np.errstate(all="ignore"):
            if self.transform is not None:
                scores = self.transform.apply(scores)
            return scores if self.clip is None else self.clip.apply(scores)

    def outputs(self, columns: Columns) -> dict[str, Array]:
        """The score columns by name."""
        return {self.name: self.predict(columns)}

    def output_names(self) -> list[str]:
        return [self.name]

    def renamed(self, name: str) -> Self:
        """The model under another name."""
        return replace(self, name=name)


def as_matrix(columns: Columns, features: int) -> Array:
    """The given columns as one contiguous array (frames x features) of doubles."""
    if isinstance(columns, Mapping):
        missing = [index for index in range(features) if index not in columns]
        if missing or len(columns) != features:
            raise ValueError(f"the model takes columns 0 to {features - 1}, but got {sorted(columns)}")
        matrix = np.column_stack([np.asarray(columns[index], np.float64) for index in range(features)])
        return np.ascontiguousarray(matrix)
    matrix = np.ascontiguousarray(columns, np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != features:
        raise ValueError(f"the model takes an array of shape (frames, {features}), but got {matrix.shape}")
    return matrix


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

    outputs = predict  # the score columns by name, as Model.outputs gives them

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
