"""The interface of the data from which reports are written."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Extra = Mapping[str, object]  # what a report has besides libvmaf's entries


class ReportSource(Protocol):
    """The figures of a measurement; NaN in a column means that the frame has no such figure.

    `pooled()` has min, max, mean and harmonic_mean of columns, `aggregate` figures of the whole clip. A
    source may also have `undefined`, by column the rows whose figure was computed and is not a number;
    `models`, the columns that are scores, the main one first; and `model_labels`, what is behind each.
    """

    @property
    def frames(self) -> Sequence[int]: ...
    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]: ...
    @property
    def aggregate(self) -> Mapping[str, float]: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def fps(self) -> float: ...
    def pooled(self) -> Mapping[str, Mapping[str, float]]: ...
