"""The results of a measurement."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from acuity.arrays import np
from acuity.errors import FeatureError, NoFramesError
from acuity.measure.pooling import METHODS, POOLS, Bound, Method, pool
from acuity.measure.segments import Segment
from acuity.records import Record, field

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Columns(Mapping[str, "NDArray[np.float64]"]):
    """Columns of figures by name, each an array once it is asked for."""

    def __init__(self, figures: Mapping[str, Sequence[float]]) -> None:
        self.figures = figures
        self._arrays: dict[str, NDArray[np.float64]] = {}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._arrays:
            self._arrays[name] = np.array(self.figures[name])
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.figures

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)


def figures_of(columns: Mapping[str, NDArray[np.float64]]) -> Mapping[str, Sequence[float]]:
    """The figures of columns as Python's numbers."""
    if isinstance(columns, Columns):
        return columns.figures
    return {name: np.asarray(values, np.float64).tolist() for name, values in columns.items()}


class Results(Record, eq=False):
    """The figures of every frame, in report order; NaN if a frame has none."""

    frames: list[int]  # frame numbers, one for each row of the columns
    columns: Mapping[str, NDArray[np.float64]]
    models: list[str]  # the columns that are scores; the first is the main one
    model_labels: Mapping[str, str]  # version or path of the model behind each score column
    width: int
    height: int
    fps: float  # frames measured in a second of wall time
    aggregate: Mapping[str, float] = field(default_factory=dict)  # figures of the whole clip
    partial: bool = False  # frames may lack figures, after steering or before the end
    segments: list[Segment] = field(default_factory=list)  # which model scores which frames
    steps: list[tuple[int, int]] = field(default_factory=list)  # first frame and N: one frame in N from there
    stopped_after: int | None = None  # the frame after which the measurement was stopped
    replaced: Mapping[str, str] = field(default_factory=dict)  # models that steering took every frame from
    # Rows in which a column's figure was computed and is not a number, for columns that have such rows.
    undefined: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    selective: frozenset[str] = frozenset()  # scores that frames lack because the model can't judge them

    def __repr__(self) -> str:
        names = ", ".join(self.models) or "no model"
        size = f"{self.width}x{self.height}"
        return f"<Results: {len(self.frames)} frames of {size}, {len(self.columns)} columns, {names}>"

    @property
    def steered(self) -> bool:
        """Whether the measurement was steered after the first frame."""
        names = [segment.name for segment in self.segments]
        shared = len(names) > len(set(names)) or bool(self.replaced)
        return shared or len(self.steps) > 1 or self.stopped_after is not None

    def pool(
        self, name: str | None = None, method: Method = "mean", first: Bound = None, last: Bound = None
    ) -> float:
        """One figure for the frames from `first` to `last`; without a name, of the first model's score.

        A method may stand in the place of the name: pool("median"). NaN if the figure of one of them is NaN,
        or if several models scored them: each has its own scale.
        """
        if name is not None and name not in self.columns and name in METHODS:
            method, name = name, None
        values = self.known(name, first, last)
        if self._has_undefined(name, first, last) or len(self.holders(name, first, last)) > 1:
            return math.nan
        if not len(values):
            raise NoFramesError("no frame was measured in this range, so there is nothing to pool")
        return pool(values, method)

    def values(self, name: str | None = None, first: Bound = None, last: Bound = None) -> NDArray[np.float64]:
        """The existing figures of the frames from `first` to `last`."""
        return np.array(self.known(name, first, last))

    def known(self, name: str | None = None, first: Bound = None, last: Bound = None) -> list[float]:
        """The same as Python's numbers."""
        if name is None:
            if not self.models:
                raise FeatureError("no model was measured: name the feature to pool")
            name = self.models[0]
        if name not in self.columns:
            raise FeatureError(f"nothing named '{name}' was measured: there are {', '.join(self.columns)}")
        values = self._figures[name][self._rows(first, last)]
        return [value for value in values if value == value]

    @cached_property
    def _figures(self) -> Mapping[str, Sequence[float]]:
        return figures_of(self.columns)

    def _rows(self, first: Bound, last: Bound) -> slice:
        """The rows of the frames from `first` to `last`; frame numbers rise."""
        begin = 0 if first is None else bisect_left(self.frames, first)
        return slice(begin, None if last is None else bisect_right(self.frames, last))

    def _has_undefined(self, name: str | None, first: Bound, last: Bound) -> bool:
        which = self.undefined.get(self.models[0] if name is None and self.models else name or "")
        return which is not None and bool(which[self._rows(first, last)].any())

    def pooled(self) -> dict[str, dict[str, float]]:
        """Min, max, mean and harmonic mean of each column that every frame has; NaN where pool() gives it.

        Selective scores are pooled over the frames that have one.
        If results are partial, of each column that some frame has, over the frames that have it.
        """
        found = {}
        for name, values in self._figures.items():
            known = [value for value in values if value == value]
            if name in self.undefined or self.shared(name):
                found[name] = dict.fromkeys(POOLS, math.nan)
            elif known and (self.partial or name in self.selective or len(known) == len(values)):
                found[name] = {method: function(known) for method, function in POOLS.items()}
        return found

    def in_order(self, first: Sequence[str]) -> Results:
        """The results with these columns before the others."""
        names = [*(name for name in first if name in self.columns), *self.columns]
        figures = {name: self._figures[name] for name in dict.fromkeys(names)}
        return self.changed(columns=Columns(figures))

    def steering(self) -> str | None:
        """A sentence about how the measurement was steered; None if it wasn't."""
        if not self.steered:
            return None
        names = [segment.name for segment in self.segments]
        parts = [
            f"{name} is {self.held_by(name)}, each with its own scale, so nothing is pooled over all frames"
            for name in dict.fromkeys(names)
            if self.shared(name)
        ]
        parts += [
            f"{name} is {self.held_by(name)}, in place of {old}"
            for name, old in self.replaced.items()
            if not self.shared(name)
        ]
        if len(self.steps) > 1:
            rates = ", ".join(f"one frame in {step} from frame {first} on" for first, step in self.steps)
            parts.append(f"{rates}, so means lean towards the frames that were scored densely")
        if self.stopped_after is not None:
            parts.append(f"stopped after frame {self.stopped_after}")
        return "; ".join(parts)

    def label(self, name: str) -> str:
        """Version or path of the model behind a score column; its own name if there were several."""
        return f"{name} (steered)" if self.shared(name) else self.model_labels[name]

    @property
    def subsample(self) -> int | None:
        """One frame in so many was scored; None if steering changed that on the way."""
        return None if len(self.steps) > 1 else self.steps[0][1] if self.steps else 1

    def is_steered(self, name: str) -> bool:
        """Whether a score column isn't that of the model asked for, in all frames."""
        return self.shared(name) or name in self.replaced

    def shared(self, name: str) -> bool:
        """Whether several models contributed to a score column."""
        return len(self.holders(name)) > 1

    def holders(self, name: str | None = None, first: Bound = None, last: Bound = None) -> list[Segment]:
        """The models behind a score column, or behind its part from `first` to `last`; none of a feature."""
        name = name or next(iter(self.models), "")
        own = [part for part in self.segments if part.name == name]
        if not own and name in self.models:  # a column that a collection has besides its score
            beside = [part for part in self.segments if name.startswith(f"{part.name}_")]
            own = [part for part in beside if self.known(name, part.first, part.last)]
        return [
            part
            for part in own
            if (first is None or part.last >= first) and (last is None or part.first <= last)
        ]

    def held_by(self, name: str) -> str:
        """The models behind a score column, each with its options and its frames."""
        return ", ".join(map(str, self.holders(name)))

    def worst(self, count: int = 5, name: str | None = None) -> list[tuple[int, float]]:
        """Frame numbers and figures of the lowest frames, the worst first.

        If several models contributed to the score, the lowest of each model's part, one part after the other.
        """
        if count < 0:
            raise ValueError(f"{count} frames can't be listed: ask for 0 or more")
        if name is None and not self.models:
            raise FeatureError("no model was measured: name the feature whose lowest frames you want")
        values = self._figures[name if name is not None else self.models[0]]
        parts = self.holders(name)
        bounds = [(part.first, part.last) for part in parts] if len(parts) > 1 else [(None, None)]
        found: list[tuple[int, float]] = []
        for first, last in bounds:
            rows = self._rows(first, last)
            known = [
                (frame, value)
                for frame, value in zip(self.frames[rows], values[rows], strict=True)
                if value == value
            ]
            found += sorted(known, key=itemgetter(1))[:count]
        return found

    def marks(self) -> dict[str, Any]:
        """The steering entries of reports: segments with their figures, sampling and stop."""
        segments = []
        for segment in self.segments:
            values = self.known(segment.name, segment.first, segment.last)
            figures = {name: function(values) if len(values) else None for name, function in POOLS.items()}
            segments.append({**segment._asdict(), "frames": len(values), **figures})
        return {
            "segments": segments,
            "subsample": [{"first": first, "every": step} for first, step in self.steps],
            "stopped_after": self.stopped_after,
        }
