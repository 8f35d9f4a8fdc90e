"""Evaluates ONNX models on a split of a table of ratings, alone or against each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from acuity.errors import AcuityError, EvaluationError, MissingExtra, ModelError, to_set
from acuity.tiny.evaluate.bootstrap import Difference, Draws, Interval, Replicates, replicate
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
    Batch,
    Collected,
    Ratings,
    Samples,
    samples_of,
)
from acuity.tiny.evaluate.statistics import FEWEST, NAMES, Figures, Mapped, Vector, figures_of, mapped_figures

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
    figures: Figures
    intervals: dict[str, Interval | None]
    rows: int
    pooling: str
    per_row: Figures | None  # without pooling, where there was some
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
            "ci95": {
                name: None if bounds is None else list(bounds) for name, bounds in self.intervals.items()
            },
            "columns": list(self.columns),
            "rows": self.rows,
            "pooling": self.pooling,
            "per_row": None if self.per_row is None else self.per_row.to_document(),
            "mapped": None if self.mapped is None else self.mapped.to_document(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Ranked:
    """An evaluation and its place among others."""

    evaluation: Evaluation
    to_next: Difference | None  # to the model below it
    to_best: Difference | None  # of the best model to this one

    @property
    def better_than_next(self) -> bool | None:
        return None if self.to_next is None else self.to_next.significant

    def to_document(self) -> dict[str, Any]:
        document = self.evaluation.to_document()
        del document["features"]  # the same for all
        return {
            **document,
            "better_than_next": self.better_than_next,
            "to_next": None if self.to_next is None else self.to_next.to_document(),
            "to_best": None if self.to_best is None else self.to_best.to_document(),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models ranked by descending PLCC, and those that could not be evaluated, in the order given."""

    features: str
    split: str
    ranked: tuple[Ranked, ...]
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
    found = _Evaluations([model], features, split, input_name, pooling, progress, score).run()
    outcome = found[0]
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
) -> Comparison:
    """Evaluate several models on the same samples, and rank them.

    A model that fails is listed with its error, and the others go on. Raises EvaluationError if the table
    can't be used at all.
    """
    if isinstance(models, str | bytes) or not isinstance(models, Sequence) or not models:
        raise EvaluationError(NO_MODELS)
    unique, notes = _without_repeats(models)
    outcomes = _Evaluations(unique, features, split, input_name, pooling, progress, score).run()
    errors = [
        (os.fspath(model), outcome)
        for model, outcome in zip(unique, outcomes, strict=True)
        if isinstance(outcome, AcuityError)
    ]
    ranked = _rank([outcome for outcome in outcomes if isinstance(outcome, Evaluation)])
    return Comparison(os.fspath(features), split, tuple(ranked), tuple(errors), (*notes, *_verdicts(ranked)))


@dataclass
class _Evaluations:
    """Reads the table once, and lets every model predict each batch."""

    models: Sequence[ModelName]
    features: str | os.PathLike[str]
    split: str
    input: str
    pooling: str
    progress: Progress | None
    score: ScoreVideo | None
    failed: dict[int, AcuityError] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of outputs that are no scores

    def __post_init__(self) -> None:
        require_extra("eval_model_on_split")
        check_split(self.split)
        check_pooling(self.pooling)

    def run(self) -> list[Evaluation | AcuityError]:
        """An evaluation or an error for each model, in their order."""
        with Ratings(self.features) as ratings:
            regressors = self._load(ratings)
            if not regressors:
                return [self.failed[number] for number in range(len(self.models))]
            if not ratings.keyed and self.split != ALL:
                raise EvaluationError(
                    f"'{os.fspath(self.features)}' has no '{KEY}' column, so it has no split "
                    f"'{self.split}': add '{KEY}', the clip of each row, or pass ",
                    to_set("split", ALL),
                    " to use every row",
                )
            collected = Collected(predictions={number: [] for number in regressors})
            for batch in self._batches(ratings, regressors.values()):
                collected.add(batch)
                self._predict(batch, regressors, collected)
                if self.progress is not None:
                    self.progress(batch.done, ratings.rows)
            samples = samples_of(collected, ratings, self.pooling)
        return self._judge(samples, collected, regressors)

    def _load(self, ratings: Ratings) -> dict[int, Predictor]:
        found = {}
        for number, model in enumerate(self.models):
            try:
                found[number] = predictor(model, self.input, ratings, self.score, self.progress)
            except MissingExtra:
                raise
            except AcuityError as error:
                self.failed[number] = error
        return found

    def _batches(self, ratings: Ratings, regressors: Iterable[Predictor]) -> Iterable[Batch]:
        numbers = dict.fromkeys(column for each in regressors for column in each.columns)
        more = dict.fromkeys(column for each in regressors for column in each.number_columns)
        if ratings.has(MARGIN):
            more[MARGIN] = None
        texts = dict.fromkeys(column for each in regressors for column in each.text_columns)
        return ratings.batches(self.split, list(numbers | more), list(texts))

    def _predict(self, batch: Batch, regressors: dict[int, Predictor], collected: Collected) -> None:
        if not len(batch):
            return
        for number, regressor in list(regressors.items()):
            if number in self.shapes:
                continue
            try:
                output = regressor.predict(batch)
            except AcuityError as error:
                self.failed[number] = error
                del regressors[number], collected.predictions[number]
                continue
            if output.shape not in ((len(batch),), (len(batch), 1)):
                # The shape for all rows is said, so the error waits until they are counted.
                rest = output.shape[1:] if output.shape[:1] == (len(batch),) else None
                self.shapes[number] = output.shape if rest is None else (-1, *rest)
                continue
            values = output.reshape(-1).astype(np.float64)
            usable = np.abs(values) <= LARGEST  # False for NaN
            if not usable.all():
                bad = int(np.flatnonzero(~usable)[0])
                self.failed[number] = ModelError(
                    f"'{regressor.name}' predicts {values[bad]} for row {batch.rows[bad]}, counted from 0:"
                    " its predictions have to be finite numbers"
                )
                del regressors[number], collected.predictions[number]
                continue
            collected.predictions[number].append(values)

    def _judge(
        self, samples: Samples, collected: Collected, regressors: dict[int, Predictor]
    ) -> list[Evaluation | AcuityError]:
        count = len(samples.target)
        if count < 2:
            raise EvaluationError(f"split '{self.split}' has {count} samples — {TOO_FEW}")
        for number, shape in self.shapes.items():
            whole = tuple(collected.rows if size < 0 else size for size in shape)
            self.failed[number] = ModelError(
                f"model output shape {whole} does not match target shape {(collected.rows,)}"
            )
            del regressors[number]
        draws = Draws(count) if count >= FEWEST and regressors else None
        outcomes: list[Evaluation | AcuityError] = []
        for number in range(len(self.models)):
            if number in self.failed:
                outcomes.append(self.failed[number])
                continue
            predicted = np.concatenate(collected.predictions.pop(number))
            outcomes.append(self._evaluation(regressors[number], predicted, samples, draws))
        return outcomes

    def _evaluation(
        self, regressor: Predictor, predicted: Vector, samples: Samples, draws: Draws | None
    ) -> Evaluation:
        pooled = samples.pooled(predicted)
        figures = figures_of(pooled, samples.target)
        replicates = None if draws is None else replicate(draws, pooled, samples.target)
        notes = [*regressor.notes, *samples.notes, *_gaps(figures, draws), *_scales(pooled, samples.target)]
        return Evaluation(
            model=regressor.name,
            features=os.fspath(self.features),
            split=self.split,
            columns=tuple(regressor.columns),
            figures=figures,
            intervals={
                name: None if replicates is None else replicates.interval(name, getattr(figures, name))
                for name in NAMES
            },
            rows=len(predicted),
            pooling=samples.pooling,
            per_row=figures_of(predicted, samples.rows) if samples.pooling == PER_CLIP else None,
            mapped=mapped_figures(pooled, samples.target, samples.sample_margins),
            notes=tuple(notes),
            replicates=replicates,
        )


def _gaps(figures: Figures, draws: Draws | None) -> list[str]:
    """Why figures or intervals are missing."""
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


def _rank(found: list[Evaluation]) -> list[Ranked]:
    order = sorted(found, key=lambda each: np.inf if each.figures.plcc is None else -each.figures.plcc)
    return [
        Ranked(
            each,
            _difference(each, order[place + 1]) if place + 1 < len(order) else None,
            _difference(order[0], each) if place else None,
        )
        for place, each in enumerate(order)
    ]


def _difference(better: Evaluation, worse: Evaluation) -> Difference | None:
    if better.replicates is None or worse.replicates is None:
        return None
    if better.figures.plcc is None or worse.figures.plcc is None:
        return None
    return compare_draws(better.replicates, worse.replicates, better.figures.plcc - worse.figures.plcc)


def _verdicts(ranked: Sequence[Ranked]) -> list[str]:
    """One sentence for each pair of neighbours that the samples can't tell apart."""
    return [
        f"{_short(upper)} and {_short(lower)} are not distinguishable on these {upper.evaluation.figures.n}"
        f" samples (p = {upper.to_next.p_value:.2g})"
        for upper, lower in pairwise(ranked)
        if upper.to_next is not None and not upper.to_next.significant
    ]


def _short(ranked: Ranked) -> str:
    return os.path.basename(ranked.evaluation.model)
