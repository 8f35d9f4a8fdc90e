"""The interface of the data from which reports are written."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Extra = Mapping[str, object]  # what a report has besides libvmaf's entries


class ReportSource(Protocol):
    """The figures of a measurement; NaN in a column means that the frame has no such figure."""

    @property
    def frames(self) -> Sequence[int]:
        """The frame numbers, one per row of the columns."""
        ...

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """Figures by name, in the order of the report."""
        ...

    def pooled(self) -> Mapping[str, Mapping[str, float]]:
        """For each column min, max, mean and harmonic_mean."""
        ...

    @property
    def aggregate(self) -> Mapping[str, float]:
        """Figures of the whole clip that are not pooled from a column."""
        ...

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def fps(self) -> float: ...


@runtime_checkable
class KnowsUndefined(Protocol):
    """A source that distinguishes figures that are not a number from missing ones."""

    @property
    def undefined(self) -> Mapping[str, NDArray[np.bool_]]:
        """Rows in which a column's figure was computed and is not a number; columns may be left out."""
        ...


@runtime_checkable
class KnowsModels(Protocol):
    """A source that knows which of its columns are scores."""

    @property
    def models(self) -> Sequence[str]:
        """The columns that are scores; the first is the main one."""
        ...

    @property
    def model_labels(self) -> Mapping[str, str]:
        """Version or path of the model behind each."""
        ...
