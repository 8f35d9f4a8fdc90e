"""A stored report: the figures of its frames, read back in the form that writers of reports take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.report.precision import LEGACY, Precision, is_small_fraction, parse_precision
from acuity.text import quoted

_NUMBERS: Final = {int, float, NoneType}
_LARGEST_FRAME: Final = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class StoredReport:
    """The frames of a report, with what else it says of the measurement."""

    frames: list[int]
    columns: dict[str, NDArray[np.float64]]
    aggregate: dict[str, float] = field(default_factory=dict)
    width: int = 0
    height: int = 0
    fps: float = math.nan
    # Pooled figures, as the report has them.
    said: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)  # the columns that are scores, if the report names them
    model_labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> StoredReport:
        """The report in libvmaf's JSON layout; raises InputError."""
        parameters = document.get("params")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        return cls(
            *from_rows(document.get("frames", ())),
            aggregate=finite_figures(document.get("aggregate_metrics")),
            width=_side(parameters, "Width"),
            height=_side(parameters, "Height"),
            fps=number_or_nan(document.get("fps")),
            said=pooled_figures(document.get("pooled_metrics")),
        )

    def pooled(self) -> Mapping[str, Mapping[str, float]]:
        return self.said

    def precision(self) -> Precision:
        """libvmaf's six decimals if they reproduce every figure, otherwise 17 significant digits."""
        exact = all(_has_legacy_digits(column) for column in self.columns.values())
        return LEGACY if exact else parse_precision("max")


def from_rows(rows: Any) -> tuple[list[int], dict[str, NDArray[np.float64]]]:
    """Frame numbers and columns of a list of {frameNum, metrics}; raises InputError."""
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise InputError("its 'frames' are no list")
    fullest: Mapping[str, Any] = {}
    for place, row in enumerate(rows):
        metrics = row.get("metrics") if isinstance(row, Mapping) else None
        if not isinstance(metrics, Mapping):
            raise InputError(f"entry {place} of its 'frames' has no 'metrics'")
        if len(metrics) > len(fullest):
            fullest = metrics
    # A frame may lack figures, so the column order comes from the frame that has the most.
    names = dict.fromkeys(
        name for metrics in (fullest, *(row["metrics"] for row in rows)) for name in metrics
    )
    numbers = frame_numbers(row.get("frameNum") for row in rows)
    return numbers, {
        name: figures(name, [row["metrics"].get(name) for row in rows], numbers) for name in names
    }


def frame_numbers(given: Iterable[Any]) -> list[int]:
    """The numbers; raises InputError for what is none."""
    numbers = list(given)
    for place, number in enumerate(numbers):
        if type(number) is not int or not 0 <= number < _LARGEST_FRAME:
            raise InputError(f"entry {place} of its frames has the number {quoted(number)}, which is none")
    return numbers


def figures(name: str, given: Sequence[Any], frames: Sequence[int]) -> NDArray[np.float64]:
    """A column of numbers, NaN where there is none; raises InputError."""
    if wrong := set(map(type, given)) - _NUMBERS:
        place = next(place for place, value in enumerate(given) if type(value) in wrong)
        raise InputError(
            f"{quoted(name)} of frame {frames[place]} is {quoted(given[place])}, which is no number"
        )
    try:
        return np.array(given, np.float64)  # None becomes NaN
    except OverflowError:
        return np.array([number_or_nan(value) for value in given], np.float64)


def number_or_nan(value: Any) -> float:
    """The number as a double, infinite where none is as large; NaN for what is no number."""
    if type(value) not in (int, float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite_figures(given: Any) -> dict[str, float]:
    """The entries of an object that are numbers."""
    entries = given.items() if isinstance(given, Mapping) else ()
    found = {str(name): number_or_nan(value) for name, value in entries}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def pooled_figures(given: Any) -> dict[str, dict[str, float]]:
    """Pooled figures by column and method."""
    entries = given.items() if isinstance(given, Mapping) else ()
    return {str(name): finite_figures(methods) for name, methods in entries}


def _side(parameters: Mapping[str, Any], side: str) -> int:
    """The width or height at which pictures were compared; 0 if the report doesn't say."""
    found = parameters.get(f"quality{side}", parameters.get(f"scaled{side}"))
    return found if type(found) is int and found > 0 else 0


def _has_legacy_digits(column: NDArray[np.float64]) -> bool:
    """Whether six decimals (sixteen for small fractions) give exactly these numbers.

    A whole number divided by a power of ten is rounded like a decimal number that is read, so the test is
    equality.
    """
    values = column[np.isfinite(column)]
    decimals = np.where([is_small_fraction(value) for value in values.tolist()], 1e16, 1e6)
    with np.errstate(over="ignore"):
        return bool(np.all(np.rint(values * decimals) / decimals == values))
