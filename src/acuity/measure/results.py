"""What a measurement found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity.errors import FeatureError, NoFramesError
from acuity.measure.pooling import POOLS, Method, pool
from acuity.measure.segments import Segment


@dataclass(frozen=True, eq=False)
class Results:
    """Figures of every frame, in report order; NaN where a frame has none."""

    frames: list[int]  # frame numbers, one for each row of the columns
    columns: Mapping[str, NDArray[np.float64]]
    models: list[str]  # which columns are scores; the first is the one that counts
    model_labels: Mapping[str, str]  # version or path of the model behind each score column
    width: int
    height: int
    fps: float  # frames measured in a second of wall time
    aggregate: Mapping[str, float] = field(default_factory=dict)  # figures of the whole clip
    partial: bool = False  # frames may lack figures because what is measured changed, or isn't done yet
    segments: list[Segment] = field(default_factory=list)  # which model holds where
    steps: list[tuple[int, int]] = field(default_factory=list)  # first frame and N: one frame in N from there
    stopped_after: int | None = None  # the frame after which somebody stopped the measurement

    @property
    def steered(self) -> bool:
        """Whether somebody changed what was measured after the first frame."""
        names = [segment.name for segment in self.segments]
        return len(names) > len(set(names)) or len(self.steps) > 1 or self.stopped_after is not None

    def pool(
        self,
        name: str | None = None,
        method: Method = "mean",
        first: int | None = None,
        last: int | None = None,
    ) -> float:
        """One figure for the frames from `first` to `last`; without a name, of the first model's score."""
        values = self.values(name, first, last)
        if not len(values):
            raise NoFramesError("no frame was measured in this range, so there is nothing to pool")
        return pool(values, method)

    def values(
        self, name: str | None = None, first: int | None = None, last: int | None = None
    ) -> NDArray[np.float64]:
        """The figures that are there, for the frames from `first` to `last`."""
        if name is None:
            if not self.models:
                raise FeatureError("no model was measured: name the feature to pool")
            name = self.models[0]
        if name not in self.columns:
            raise FeatureError(f"nothing named '{name}' was measured: there are {', '.join(self.columns)}")
        numbers = np.asarray(self.frames, np.int64)
        chosen = np.ones(len(numbers), bool)
        if first is not None:
            chosen &= numbers >= first
        if last is not None:
            chosen &= numbers <= last
        values = self.columns[name][chosen]
        return values[~np.isnan(values)]

    def pooled(self) -> dict[str, dict[str, float]]:
        """For each column that every frame has: min, max, mean and harmonic mean.

        Where results are partial, for each column that some frame has, of the frames that have it.
        """
        columns = {
            name: values[~np.isnan(values)] if self.partial else values
            for name, values in self.columns.items()
        }
        return {
            name: {method: function(values) for method, function in POOLS.items()}
            for name, values in columns.items()
            if len(values) and not np.isnan(values).any()
        }

    def worst(self, count: int = 5, name: str | None = None) -> list[tuple[int, float]]:
        """Frame numbers and figures of the lowest frames, the worst first."""
        values = self.columns[name if name is not None else self.models[0]]
        order = np.argsort(values, kind="stable")[:count]  # NaN sorts last
        return [(self.frames[int(i)], float(values[i])) for i in order if not np.isnan(values[i])]

    def marks(self, *, figures: bool = False) -> dict[str, Any]:
        """For reports: which model holds where, with its figures if wanted, and which frames count."""
        segments = []
        for segment in self.segments:
            mark = asdict(segment)
            if figures:
                values = self.values(segment.name, segment.first, segment.last)
                mark["frames"] = len(values)
                mark |= {name: function(values) if len(values) else None for name, function in POOLS.items()}
            segments.append(mark)
        return {
            "segments": segments,
            "subsample": [{"first": first, "every": step} for first, step in self.steps],
            "stopped_after": self.stopped_after,
        }
