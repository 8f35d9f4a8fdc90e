"""The parts of reports: the figures of a measurement, and values as documents have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from acuity.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Extra = Mapping[str, object]  # what a report has besides libvmaf's entries


class ReportSource(Protocol):
    """The figures of a measurement; NaN in a column means that the frame has no such figure.

    `pooled()` has min, max, mean and harmonic_mean of columns, `aggregate` figures of the whole clip. A
    source may also have `undefined`, by column the rows whose figure was computed and is not a number;
    `models`, the columns that are scores, the main one first; and `model_labels`, the model behind each.
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


def plain(value: object) -> Any:
    """The value in Python's own types: None for numbers that aren't finite, text without invalid bytes."""
    if type(value).__module__ == "numpy" and isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # file names may hold any bytes
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value
