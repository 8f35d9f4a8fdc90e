"""The ways in which a model predicts the rows of a table: from features, or by scoring videos named there.

A tiny model of features is a Regressor. A VMAF model reads features too, and is the baseline of the others.
Where a table names videos and lacks what a model reads, the model scores them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from acuity.errors import AcuityError, EvaluationError, MissingExtra, ModelError
from acuity.models import Model, load_model
from acuity.tiny.evaluate.ratings import PREFIX, RatedRows, Ratings
from acuity.tiny.evaluate.regressor import Regressor
from acuity.tiny.files import find_tiny_model

REFERENCE: Final = ("reference", "ref")  # columns, of which a table of videos has one each
DISTORTED: Final = ("distorted", "dis")
_MOST_NOTES: Final = 5  # videos whose warnings are repeated


class VideoScore(NamedTuple):
    """The score of a video, and the warnings about it."""

    score: float
    warnings: Sequence[str] = ()


# Scores a video: the name of the model, the reference if the table names one, the distorted video.
ScoreVideo: TypeAlias = Callable[[str, str | None, str], VideoScore]
Tell: TypeAlias = Callable[[int, int], None]  # rows done, all rows


def predictor(
    model: str | os.PathLike[str],
    input_name: str,
    ratings: Ratings,
    score: ScoreVideo | None = None,
    tell: Tell | None = None,
) -> Predictor:
    """How a model predicts this table; raises ModelError, EvaluationError or MissingExtra."""
    try:
        classic = _classic(os.fspath(model))
        found = Regressor(model, input_name, ratings) if classic is None else Classic(classic, ratings)
    except MissingExtra:
        raise
    except AcuityError:  # it reads pictures, or features that the table hasn't
        if ratings.first_of(DISTORTED) is None:
            raise
        return ScoredModel(os.fspath(model), ratings, score, tell)
    found.notes += tuple(_twins(found.columns, ratings))
    return found


class Classic:
    """A VMAF model that reads its features from a table."""

    number_columns: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()

    def __init__(self, model: Model, ratings: Ratings) -> None:
        self.name = model.label
        self.notes: tuple[str, ...] = ()
        self._model = model
        self.columns = ratings.columns(model.feature_keys(), self.name)
        for column in self.columns:
            ratings.check_numbers(column)

    def predict(self, batch: RatedRows) -> npt.NDArray[np.float64]:
        return self._model.predict(np.stack([batch.columns[column] for column in self.columns], axis=1))


class ScoredModel:
    """A model that scores the videos of each row."""

    columns: tuple[str, ...] = ()
    number_columns: tuple[str, ...] = ()

    def __init__(self, name: str, ratings: Ratings, score: ScoreVideo | None, tell: Tell | None) -> None:
        if score is None:
            raise EvaluationError(
                f"{ratings.name} names videos, which are scored by acuity evaluate only: use it, or add the"
                f" features that '{name}' reads"
            )
        self.name = name
        self._score = score
        self._tell = tell
        self._rows = ratings.rows
        self._folder = os.path.dirname(ratings.name)
        self._reference, distorted = ratings.first_of(REFERENCE), ratings.first_of(DISTORTED)
        self._distorted = str(distorted)
        self.text_columns = tuple(column for column in (self._reference, distorted) if column is not None)
        self._warned: dict[str, str] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The first warnings, each with its video."""
        shown = [f"{video}: {text}" for video, text in self._warned.items()][:_MOST_NOTES]
        more = len(self._warned) - len(shown)
        return (*shown, *([f"{more} more videos were scored with warnings"] if more else []))

    def predict(self, batch: RatedRows) -> npt.NDArray[np.float64]:
        found = np.empty(len(batch))
        texts = batch.texts
        for place, row in enumerate(batch.rows.tolist()):
            distorted = texts[self._distorted][place]
            reference = None if self._reference is None else texts[self._reference][place]
            try:
                scored = self._score(self.name, self._at(reference), str(self._at(distorted)))
            except ModelError:
                raise
            except AcuityError as error:
                raise type(error)(f"row {row}, counted from 0: ", *error.args) from error
            found[place] = scored.score
            if scored.warnings:
                self._warned.setdefault(distorted, "; ".join(scored.warnings))
            if self._tell is not None:
                self._tell(row + 1, self._rows)
        return found

    def _at(self, name: str | None) -> str | None:
        """A file of the table, relative to it."""
        return name and os.path.join(self._folder, name)


def _classic(name: str) -> Model | None:
    """The VMAF model of a name or a .json file; None if it is a tiny model's."""
    if name.endswith(".onnx"):
        return None
    try:
        found = load_model(name)
    except ModelError as error:
        try:
            find_tiny_model(name)
        except ModelError:
            if name.endswith((".json", ".pkl")) or "vmaf" in name:
                raise error from None
        return None
    if not isinstance(found, Model):
        raise ModelError(f"'{name}' is a collection of models: name one that gives a single score")
    return found


def _twins(columns: Sequence[str], ratings: Ratings) -> list[str]:
    """Notes on features that a table has under both of their names."""
    others = {column: column.removeprefix(PREFIX) for column in columns}
    others |= {column: PREFIX + column for column, plain in others.items() if plain == column}
    both = [(column, other) for column, other in others.items() if ratings.has(other)]
    return [f"the table has '{column}' and '{other}', and '{column}' is read" for column, other in both]


# The objects that an evaluation asks for predictions of rows.
Predictor: TypeAlias = Regressor | Classic | ScoredModel
