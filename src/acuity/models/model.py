"""One model: predicts scores from feature values, in libvmaf's order of arithmetic.

Feature values are scaled to the SVM's range, with a correction of chroma, and its output to a score. That is
transformed: polynomial, piecewise-linear map, rectification, then the clip.

A collection has models trained on resampled data, whose spread gives a confidence interval.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add, itemgetter
from typing import TYPE_CHECKING, Self, TypeAlias

from acuity.arrays import np
from acuity.models.inputs import ModelFeature, ReadsFeatures
from acuity.models.svm import SupportVectorRegression
from acuity.records import NamedTuple, Record

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Floats: TypeAlias = Sequence[float]


class LinearRescale(NamedTuple):
    """value * slope + intercept on the way in, the inverse on the way out; slopes of 1 for norm_type none."""

    score_slope: float
    score_intercept: float
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]
    norm_type: str = "linear_rescale"

    def normalise(self, columns: Sequence[Floats]) -> list[list[float]]:
        """The columns of features as the SVM takes them."""
        scales = zip(columns, self.slopes, self.intercepts, strict=True)
        return [[slope * value + intercept for value in column] for column, slope, intercept in scales]

    def restore_feature(self, index: int, nodes: Floats) -> list[float]:
        return [(node - self.intercepts[index]) / self.slopes[index] for node in nodes]

    def restore_score(self, decisions: Floats) -> list[float]:
        return [(decision - self.score_intercept) / self.score_slope for decision in decisions]


class ChromaCorrection(NamedTuple):
    """VMAF v1: replaces a chroma feature of exactly 0 by an estimate from a luma feature.

    Both values are restored from the normalised inputs, as in libvmaf, and not taken from the features: the
    rounding of the round trip is visible in the score.
    """

    parameter: float
    luma: int
    chroma: int

    def apply(self, nodes: list[list[float]], scaling: LinearRescale) -> None:
        """Correct the normalised inputs in place."""
        column = nodes[self.chroma]
        slope, intercept = scaling.slopes[self.chroma], scaling.intercepts[self.chroma]
        lumas = scaling.restore_feature(self.luma, nodes[self.luma])
        for place, value in enumerate(scaling.restore_feature(self.chroma, column)):
            if value == 0.0:
                column[place] = slope * ((-self.parameter * lumas[place]) + self.parameter) + intercept


class ScoreTransform(NamedTuple):
    """The stages before the clip; None as coefficient, or no knots, leaves a stage out."""

    p0: float | None = None
    p1: float | None = None
    p2: float | None = None
    knots: tuple[tuple[float, float], ...] = ()  # x rising, y not falling, at least two when given
    out_lte_in: bool = False
    out_gte_in: bool = False

    def apply(self, scores: Floats) -> list[float]:
        return [self._score(score) for score in scores]

    def _score(self, score: float) -> float:
        result = self._map_knots(self._polynomial(score))
        if self.out_lte_in and result > score:
            result = score
        if self.out_gte_in and result < score:
            result = score
        return result

    def _polynomial(self, x: float) -> float:
        if self.p0 is None and self.p1 is None and self.p2 is None:
            return x
        result = 0.0
        if self.p0 is not None:
            result += self.p0
        if self.p1 is not None:
            result += self.p1 * x
        if self.p2 is not None:
            result += self.p2 * x * x
        return result

    def _map_knots(self, x: float) -> float:
        """Straight lines through the knots, the outer ones extended; on a knot the right-hand line counts."""
        if not self.knots or x != x:
            return x
        after = bisect_right(self.knots, x, key=itemgetter(0))
        left = min(max(after - 1, 0), len(self.knots) - 2)
        slope, offset = _line(self.knots[left], self.knots[left + 1])
        return offset if slope == 0.0 else slope * x + offset


class ScoreClip(NamedTuple):
    low: float
    high: float

    def apply(self, scores: Floats) -> list[float]:
        raised = (self.low if score < self.low else score for score in scores)
        return [self.high if score > self.high else score for score in raised]


def _line(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    """Slope and offset of the line through two knots, with libvmaf's roundings."""
    (x0, y0), (x1, y1) = left, right
    if y0 == y1:
        return 0.0, y0
    if x0 == 0:
        return (y1 - y0) / x1, y0
    slope = (y1 - y0) / (x1 - x0)
    return slope, y0 - x0 * slope


Columns: TypeAlias = "Mapping[int, Floats] | Array"


class _OfFile(ReadsFeatures):
    """The base of what is read from one model file."""

    file: str

    @property
    def path(self) -> Path:
        """Its file."""
        from pathlib import Path

        return Path(self.file)


class Model(Record, _OfFile, eq=False):
    """A loaded model; transform and clip are None if the file or the caller leaves them out."""

    name: str  # the column of its scores in reports
    label: str  # the version or path, for people
    file: str
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
        """Scores from feature values: an array (frames x features), or one column per feature index."""
        return np.array(self.outputs(columns)[self.name])

    def predict_raw(self, columns: Sequence[Floats]) -> list[float]:
        """Scores before transform and clip."""
        nodes = self.scaling.normalise(columns)
        if self.chroma is not None:
            self.chroma.apply(nodes, self.scaling)
        return self.scaling.restore_score(self.svm.predict(nodes))

    def finish(self, scores: list[float]) -> list[float]:
        """Apply this model's transform and clip."""
        if self.transform is not None:
            scores = self.transform.apply(scores)
        return scores if self.clip is None else self.clip.apply(scores)

    def outputs(self, columns: Columns) -> dict[str, list[float]]:
        """The score columns by name."""
        return {self.name: self.finish(self.predict_raw(as_columns(columns, len(self.features))))}

    def output_names(self) -> list[str]:
        return [self.name]

    def renamed(self, name: str) -> Self:
        """The model under another name."""
        return self.changed(name=name)


def as_columns(columns: Columns, features: int) -> list[Floats]:
    """The given columns, or those of an array (frames x features)."""
    if isinstance(columns, Mapping):
        missing = [index for index in range(features) if index not in columns]
        if missing or len(columns) != features:
            raise ValueError(f"the model takes columns 0 to {features - 1}, but got {sorted(columns)}")
        return [_doubles(columns[index]) for index in range(features)]
    matrix = np.asarray(columns, np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != features:
        raise ValueError(f"the model takes an array of shape (frames, {features}), but got {matrix.shape}")
    return list(matrix.T.tolist())


def _doubles(column: Floats) -> Floats:
    """The column in double precision, whatever it came in."""
    return column if isinstance(column, array) and column.typecode == "d" else array("d", column)


def as_matrix(columns: Columns, features: int) -> Array:
    """The same as one contiguous array (frames x features) of doubles."""
    return np.ascontiguousarray(np.array(as_columns(columns, features)).T)


_STATISTICS = ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")
# Half the step over which the slope of the transform is taken, to carry the deviation through it.
_DELTA = 0.01


def member_name(name: str, number: int) -> str:
    """The column of a member's scores; the base model is number 0 and has the collection's name."""
    return f"{name}_{number:04d}" if number else name


class ModelCollection(Record, _OfFile, eq=False):
    """The base model, trained on all data, and its bootstrap members."""

    name: str
    label: str
    file: str
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
        """The columns of outputs() as arrays."""
        return {name: np.array(scores) for name, scores in self.outputs(columns).items()}

    def outputs(self, columns: Columns) -> dict[str, list[float]]:
        """The base score, the members' scores, then bagging, deviation and 95 % interval: libvmaf's order."""
        by_feature = list(zip(self.features, as_columns(columns, len(self.features)), strict=True))

        def raw(model: Model) -> list[float]:
            return model.predict_raw([next(c for f, c in by_feature if f == mine) for mine in model.features])

        result = {self.base.name: self.base.finish(raw(self.base))}
        raws = [raw(member) for member in self.members]
        for member, scores in zip(self.members, raws, strict=True):
            result[member.name] = member.finish(scores)
        for statistic, scores in zip(_STATISTICS, self._statistics(raws), strict=True):
            result[f"{self.name}_{statistic}"] = scores
        return result

    def output_names(self) -> list[str]:
        statistics = (f"{self.name}_{statistic}" for statistic in _STATISTICS)
        return [*(model.name for model in self.models), *statistics]

    def renamed(self, name: str) -> Self:
        """The collection under another name."""
        base, *members = (
            model.renamed(member_name(name, number)) for number, model in enumerate(self.models)
        )
        return self.changed(name=name, base=base, members=tuple(members))

    def _statistics(self, raws: Sequence[Floats]) -> tuple[list[float], ...]:
        """Statistics of the members' raw scores, after the first member's transform and clip."""
        finish = self.members[0].finish
        rows = list(zip(*raws, strict=True))  # the members' scores of each frame
        means = [_sum(row) / len(row) for row in rows]
        deviations = [
            math.sqrt(_sum([(score - mean) * (score - mean) for score in row]) / len(row))
            for row, mean in zip(rows, means, strict=True)
        ]
        ordered = [sorted(row, key=lambda score: (score != score, score)) for row in rows]
        above, below = (finish([mean + step for mean in means]) for step in (_DELTA, -_DELTA))
        slopes = [(high - low) / (2.0 * _DELTA) for high, low in zip(above, below, strict=True)]
        low, high = (finish([_percentile(row, percent) for row in ordered]) for percent in (2.5, 97.5))
        spread = [deviation * slope for deviation, slope in zip(deviations, slopes, strict=True)]
        return finish(means), spread, low, high


def _sum(values: Floats) -> float:
    """Sums from left to right; Python's own sum() corrects itself."""
    return reduce(add, values)


def _percentile(ordered: Floats, percent: float) -> float:
    position = percent * (len(ordered) - 1) / 100.0
    left, right = math.floor(position), math.ceil(position)
    if left == right:
        return ordered[left]
    return ordered[left] * (right - position) + ordered[right] * (position - left)
