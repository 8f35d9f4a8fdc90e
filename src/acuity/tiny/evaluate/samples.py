"""The samples that figures are computed of: rows of the table, or clips whose rows are averaged.

Viewers rate clips, so a clip's rating stands in every row of its frames. The correlation over rows would
count a long clip as many, and call the frames of one clip wrong for differing. Where keys repeat, a clip is
therefore one sample: the mean of its predictions against its rating.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from acuity.errors import EvaluationError
from acuity.tiny.evaluate.ratings import KEY, MARGIN, TARGET, Batch, Ratings, Whole
from acuity.tiny.evaluate.statistics import Vector

PER_CLIP: Final = "per_clip"
NONE: Final = "none"
_MOST_KEPT: Final = 40_000_000  # numbers, of 8 bytes each


@dataclass(slots=True)
class Collected:
    """The ratings and predictions of all rows of a split, as they come in."""

    targets: list[Vector] = field(default_factory=list)
    keys: list[Whole] = field(default_factory=list)
    margins: list[Vector] = field(default_factory=list)  # of the ratings, where the table has them
    predictions: dict[int, list[Vector]] = field(default_factory=dict)  # by the number of the model
    rows: int = 0

    def add(self, batch: Batch) -> None:
        self.rows += len(batch)
        if self.rows * (2 + len(self.predictions)) > _MOST_KEPT:
            raise EvaluationError(
                f"more than {self.rows - len(batch):,} rows are too many for {len(self.predictions)} models"
                " at once: evaluate fewer models in a call, or a smaller split"
            )
        self.targets.append(batch.target)
        if MARGIN in batch.columns:
            self.margins.append(batch.columns[MARGIN])
        if batch.keys is not None:
            self.keys.append(batch.keys)


@dataclass(frozen=True, slots=True)
class Samples:
    """What the figures are computed of, and how predictions are turned into it."""

    pooling: str
    rows: Vector  # the rating of every row
    target: Vector  # the rating of every sample
    notes: tuple[str, ...]
    margins: Vector | None = None  # of every row's rating
    _clip: npt.NDArray[np.intp] | None = None  # the number of each row's clip
    _sizes: Vector | None = None  # the number of rows of each clip

    @property
    def sample_margins(self) -> Vector | None:
        return None if self.margins is None else self.pooled(self.margins)

    def pooled(self, predicted: Vector) -> Vector:
        """One prediction for each sample, of those of the rows."""
        if self._clip is None or self._sizes is None:
            return predicted
        return np.bincount(self._clip, predicted) / self._sizes


def samples_of(collected: Collected, ratings: Ratings, pooling: str) -> Samples:
    """The rows, or the clips if their keys repeat or the caller wants them; raises EvaluationError."""
    target = np.concatenate(collected.targets) if collected.targets else np.empty(0)
    margins = np.concatenate(collected.margins) if collected.margins else None
    if pooling == "clip" and not ratings.keyed:
        raise EvaluationError(
            f"'{ratings.name}' has no '{KEY}' column, so clips can't be told apart: use pooling none"
        )
    if pooling == "none" or not ratings.keyed or not len(target):
        return Samples(NONE, target, target, (), margins)
    keys, clip, sizes = np.unique(np.concatenate(collected.keys), return_inverse=True, return_counts=True)
    if pooling == "auto" and len(keys) == len(target):
        return Samples(NONE, target, target, (), margins)
    mean = np.bincount(clip, target) / sizes
    # By their ratings: the draws of the intervals should not depend on how keys are spelled.
    order = np.argsort(mean, kind="stable")
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    clip, mean, sizes = place[clip], mean[order], sizes[order]
    notes = _varied(target, clip, len(keys))
    return Samples(PER_CLIP, target, mean, notes, margins, clip, sizes.astype(np.float64))


def _varied(target: Vector, clip: npt.NDArray[np.intp], clips: int) -> tuple[str, ...]:
    lowest, highest = np.full(clips, np.inf), np.full(clips, -np.inf)
    np.minimum.at(lowest, clip, target)
    np.maximum.at(highest, clip, target)
    varied = int((highest > lowest).sum())
    if not varied:
        return ()
    return (f"'{TARGET}' differs between the rows of {varied} of {clips} clips: their mean is the rating",)
