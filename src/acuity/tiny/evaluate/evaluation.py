"""Evaluates ONNX models on a split of a table of ratings, alone or against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from acuity.errors import AcuityError, EvaluationError, MissingExtra, ModelError, to_set
from acuity.tiny.evaluate.bootstrap import Draws, Interval, PlccDifference, Replicates, replicate
from acuity.tiny.evaluate.bootstrap import compare as compare_draws
from acuity.tiny.evaluate.choices import (
    ALL,
    INPUT,
    NO_MODELS,
    TOO_FEW,
    check_pooling,
    check_split,
    require_extra,
)
from acuity.tiny.evaluate.predictors import Predictor, ScoreVideo, predictor
from acuity.tiny.evaluate.ratings import (
    KEY,
    LARGEST,
    MARGIN,
    PER_CLIP,
    Collected,
    RatedRows,
    Ratings,
    Samples,
    samples_of,
)
from acuity.tiny.evaluate.statistics import (
    FEWEST,
    NAMES,
    Mapped,
    ModelFigures,
    Vector,
    figures_of,
    mapped_figures,
)

_OTHER_SCALE: Final = 4  # how many times greater the numbers of another scale are, at least

ModelName: TypeAlias = str | os.PathLike[str]
Progress: TypeAlias = Callable[[int, int], None]  # rows read, rows of the file


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well one model predicts the ratings of a split."""

    model: str
    features: str
    split: str
    columns: tuple[str, ...]
    figures: ModelFigures
    intervals: dict[str, Interval | None]
    rows: int
    pooling: str
    per_row: ModelFigures | None  # without pooling, where there was some
    mapped: Mapped | None  # after a mapping onto the ratings' scale
    notes: tuple[str, ...]
    replicates: Replicates | None  # to compare it with others on the same samples

    def to_document(self) -> dict[str, Any]:
        found = self.figures
        return {
            "model": self.model,
            "features": self.features,
            "split": self.split,
            "n": found.n,
            "plcc": found.plcc,
            "srocc": found.srocc,
            "rmse": found.rmse,
            "krocc": found.krocc,
            "ci95": {name: bounds and list(bounds) for name, bounds in self.intervals.items()},
            "columns": list(self.columns),
            "rows": self.rows,
            "pooling": self.pooling,
            "per_row": _document(self.per_row),
            "mapped": _document(self.mapped),
            "notes": list(self.notes),
        }


def _document(figures: ModelFigures | Mapped | PlccDifference | None) -> dict[str, Any] | None:
    if figures is None:
        return None
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(figures).items()
    }


@dataclass(frozen=True, slots=True)
class RankedModel:
    """An evaluation and its place among others."""

    evaluation: Evaluation
    to_next: PlccDifference | None  # to the model below it
    to_best: PlccDifference | None  # of the best model to this one

    @property
    def better_than_next(self) -> bool | None:
        return None if self.to_next is None else self.to_next.significant

    def to_document(self) -> dict[str, Any]:
        document = self.evaluation.to_document()
        del document["features"]  # the same for all
        return {
            **document,
            "better_than_next": self.better_than_next,
            "to_next": _document(self.to_next),
            "to_best": _document(self.to_best),
        }


@dataclass(frozen=True, slots=True)
class ModelRanking:
    """Models ranked by descending PLCC, and those that could not be evaluated, in the order given."""

    features: str
    split: str
    ranked: tuple[RankedModel, ...]
    errors: tuple[tuple[str, AcuityError], ...]
    notes: tuple[str, ...]

    def to_document(self) -> dict[str, Any]:
        return {
            "ranked": [entry.to_document() for entry in self.ranked],
            "errors": [{"model": model, "error": str(error)} for model, error in self.errors],
            "features": self.features,
            "split": self.split,
            "notes": list(self.notes),
        }


def evaluate(
    model: ModelName,
    features: str | os.PathLike[str],
    split: str = "test",
    input_name: str = INPUT,
    *,
    pooling: str = "auto",
    progress: Progress | None = None,
    score: ScoreVideo | None = None,
) -> Evaluation:
    """Evaluate one model; raises EvaluationError, ModelError or MissingExtra.

    `score` scores the videos of a table that names some.
    """
    (outcome,) = _Evaluator([model], features, split, input_name, pooling, progress, score).run()
    if isinstance(outcome, AcuityError):
        raise outcome
    return outcome


def compare(
    models: Sequence[ModelName],
    features: str | os.PathLike[str],
    split: str = "test",
    input_name: str = INPUT,
    *,
    pooling: str = "auto",
    progress: Progress | None = None,
    score: ScoreVideo | None = None,
) -> ModelRanking:
    """Evaluate several models on the same samples, and rank them.

    A model that fails is listed with its error, and the others go on. Raises EvaluationError if the table
    can't be used at all.
    """
    if isinstance(models, str | bytes) or not isinstance(models, Sequence) or not models:
        raise EvaluationError(NO_MODELS)
    unique, notes = _without_repeats(models)
    outcomes = _Evaluator(unique, features, split, input_name, pooling, progress, score).run()
    named = [(os.fspath(model), outcome) for model, outcome in zip(unique, outcomes, strict=True)]
    errors = tuple((name, outcome) for name, outcome in named if isinstance(outcome, AcuityError))
    ranked = _rank([outcome for outcome in outcomes if isinstance(outcome, Evaluation)])
    return ModelRanking(os.fspath(features), split, tuple(ranked), errors, (*notes, *_verdicts(ranked)))


@dataclass
class _Candidate:
    """A model, what it predicts, and the error that it failed with."""

    model: ModelName
    predictor: Predictor | None = None
    predictions: list[Vector] = field(default_factory=list)
    shape: tuple[int, ...] | None = None  # of an output that is no score; -1 stands for the number of rows
    error: AcuityError | None = None

    @property
    def predicts(self) -> Predictor | None:
        return self.predictor if self.error is None else None

    def predict(self, batch: RatedRows) -> None:
        if self.shape is not None or self.predictor is None or self.error is not None:
            return
        try:
            output = self.predictor.predict(batch)
        except AcuityError as error:
            self.error = error
            return
        if output.shape not in ((len(batch),), (len(batch), 1)):
            # The error names the shape for all rows, so it waits until they are counted.
            rest = output.shape[1:] if output.shape[:1] == (len(batch),) else None
            self.shape = output.shape if rest is None else (-1, *rest)
            return
        values = output.reshape(-1).astype(np.float64)
        usable = np.abs(values) <= LARGEST  # False for NaN
        if not usable.all():
            bad = int(np.flatnonzero(~usable)[0])
            self.error = ModelError(
                f"'{self.predictor.name}' predicts {values[bad]} for row {batch.rows[bad]}, counted from 0:"
                " its predictions have to be finite numbers"
            )
        self.predictions.append(values)


@dataclass
class _Evaluator:
    """Reads the table once, and lets every model predict each batch."""

    models: Sequence[ModelName]
    features: str | os.PathLike[str]
    split: str
    input: str
    pooling: str
    progress: Progress | None
    score: ScoreVideo | None

    def run(self) -> list[Evaluation | AcuityError]:
        """An evaluation or an error for each model, in their order."""
        require_extra("eval_model_on_split")
        check_split(self.split)
        check_pooling(self.pooling)
        candidates = [_Candidate(model) for model in self.models]
        with Ratings(self.features) as ratings:
            for one in candidates:
                try:
                    one.predictor = predictor(one.model, self.input, ratings, self.score, self.progress)
                except MissingExtra:
                    raise
                except AcuityError as error:
                    one.error = error
            predictors = [found for one in candidates if (found := one.predicts) is not None]
            if predictors:
                samples, rows = self._read(ratings, predictors, candidates)
        if not predictors:
            return [one.error for one in candidates if one.error is not None]
        count = len(samples.target)
        if count < 2:
            raise EvaluationError(f"split '{self.split}' has {count} samples — {TOO_FEW}")
        for one in candidates:
            if one.shape is not None:
                whole = tuple(rows if size < 0 else size for size in one.shape)
                one.error = ModelError(f"model output shape {whole} does not match target shape {(rows,)}")
        draws = Draws(count) if count >= FEWEST else None
        return [one.error or self._evaluation(one, samples, draws) for one in candidates]

    def _read(
        self, ratings: Ratings, predictors: Sequence[Predictor], candidates: Sequence[_Candidate]
    ) -> tuple[Samples, int]:
        """The samples of the split and its number of rows, which the candidates have predicted then."""
        if not ratings.keyed and self.split != ALL:
            raise EvaluationError(
                f"'{os.fspath(self.features)}' has no '{KEY}' column, so it has no split "
                f"'{self.split}': add '{KEY}', the clip of each row, or pass ",
                to_set("split", ALL),
                " to use every row",
            )
        numbers = [column for each in predictors for column in (*each.columns, *each.number_columns)]
        texts = [column for each in predictors for column in each.text_columns]
        numbers += [MARGIN] if ratings.has(MARGIN) else []
        collected = Collected(len(predictors))
        for batch in ratings.batches(self.split, [*dict.fromkeys(numbers)], [*dict.fromkeys(texts)]):
            collected.add(batch)
            for one in candidates if len(batch) else ():
                one.predict(batch)
            if self.progress is not None:
                self.progress(batch.done, ratings.rows)
        return samples_of(collected, ratings, self.pooling), collected.rows

    def _evaluation(self, one: _Candidate, samples: Samples, draws: Draws | None) -> Evaluation:
        assert one.predictor is not None
        predicted = np.concatenate(one.predictions)
        pooled = samples.pooled(predicted)
        figures = figures_of(pooled, samples.target)
        replicates = None if draws is None else replicate(draws, pooled, samples.target)
        intervals: dict[str, Interval | None] = dict.fromkeys(NAMES)
        if replicates is not None:
            intervals = {name: replicates.interval(name, getattr(figures, name)) for name in NAMES}
        gaps, scales = _gaps(figures, draws), _scales(pooled, samples.target)
        return Evaluation(
            model=one.predictor.name,
            features=os.fspath(self.features),
            split=self.split,
            columns=tuple(one.predictor.columns),
            figures=figures,
            intervals=intervals,
            rows=len(predicted),
            pooling=samples.pooling,
            per_row=figures_of(predicted, samples.rows) if samples.pooling == PER_CLIP else None,
            mapped=mapped_figures(pooled, samples.target, samples.sample_margins),
            notes=(*one.predictor.notes, *samples.notes, *gaps, *scales),
            replicates=replicates,
        )


def _gaps(figures: ModelFigures, draws: Draws | None) -> list[str]:
    """Notes on why figures or intervals are missing."""
    notes = []
    if figures.plcc is None:
        notes.append("all predictions or all ratings are the same, so there is no correlation")
    if draws is None:
        missing = "confidence intervals and mapped figures"
        notes.append(f"{figures.n} samples are too few for {missing}, which need {FEWEST}")
    return notes


def _scales(predicted: Vector, target: Vector) -> Iterator[str]:
    """A note where predictions and ratings are not on one scale, as far as their ranges show it."""
    ranges = [(float(values.min()), float(values.max())) for values in (predicted, target)]
    (low, high), (least, most) = ranges
    far, near = sorted(max(map(abs, each)) for each in ranges)[::-1]
    if high < least or most < low or far > _OTHER_SCALE * near:
        yield (
            f"predictions are {low:.4g} to {high:.4g} and ratings {least:.4g} to {most:.4g}: if these are two"
            " scales, rmse says nothing; `mapped` has it on the ratings' scale where it isn't null"
        )


def _without_repeats(models: Sequence[ModelName]) -> tuple[list[ModelName], list[str]]:
    """The models without those that are another's file again, and a note about each of these."""
    first: dict[str, ModelName] = {}
    notes = []
    for model in models:
        place = os.path.realpath(model) if os.path.exists(model) else os.fspath(model)
        if place in first:
            notes.append(f"'{os.fspath(model)}' is in the list twice, and was evaluated once")
        first.setdefault(place, model)
    return list(first.values()), list(dict.fromkeys(notes))


def _rank(found: list[Evaluation]) -> list[RankedModel]:
    order = sorted(found, key=lambda each: np.inf if each.figures.plcc is None else -each.figures.plcc)
    return [
        RankedModel(
            each,
            _difference(each, order[place + 1]) if place + 1 < len(order) else None,
            _difference(order[0], each) if place else None,
        )
        for place, each in enumerate(order)
    ]


def _difference(better: Evaluation, worse: Evaluation) -> PlccDifference | None:
    if better.replicates is None or worse.replicates is None:
        return None
    if better.figures.plcc is None or worse.figures.plcc is None:
        return None
    return compare_draws(better.replicates, worse.replicates, better.figures.plcc - worse.figures.plcc)


def _verdicts(ranked: Sequence[RankedModel]) -> list[str]:
    """One sentence for each pair of neighbours that the samples can't tell apart."""
    return [
        f"{_short(upper)} and {_short(lower)} are not distinguishable on these {upper.evaluation.figures.n}"
        f" samples (p = {upper.to_next.p_value:.2g})"
        for upper, lower in pairwise(ranked)
        if upper.to_next is not None and not upper.to_next.significant
    ]


def _short(ranked: RankedModel) -> str:
    return os.path.basename(ranked.evaluation.model)
