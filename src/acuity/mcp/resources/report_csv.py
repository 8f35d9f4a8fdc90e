"""Writes a stored report as CSV, with the columns and digits of the commands' CSV."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity.report.csv_writer import write_csv
from acuity.report.precision import LEGACY, Precision, is_small_fraction, parse_precision


def report_csv(document: Mapping[str, Any]) -> str:
    """One line a frame; a missing figure, or one that JSON couldn't hold, is an empty field."""
    report = _StoredReport.from_document(document)
    return "".join(write_csv(report, report.precision(), version="", extra={}))


@dataclass(frozen=True, slots=True)
class _StoredReport:
    """A ReportSource made from the JSON report, with the parts that CSV needs."""

    frames: list[int]
    columns: dict[str, NDArray[np.float64]]
    aggregate: dict[str, float] = field(default_factory=dict)
    width: int = 0
    height: int = 0
    fps: float = float("nan")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> _StoredReport:
        rows: list[Mapping[str, Any]] = list(document.get("frames", ()))
        # A frame may lack figures, so the column order comes from the frame that has the most.
        fullest = max(rows, key=lambda row: len(row["metrics"]), default=None)
        ordered = rows if fullest is None else [fullest, *rows]
        names = dict.fromkeys(name for row in ordered for name in row["metrics"])
        columns = {
            name: np.array([_figure(row["metrics"].get(name)) for row in rows], np.float64) for name in names
        }
        return cls([int(row["frameNum"]) for row in rows], columns)

    def pooled(self) -> Mapping[str, Mapping[str, float]]:
        return {}

    def precision(self) -> Precision:
        """libvmaf's six decimals if they reproduce every figure, otherwise 17 significant digits."""
        exact = all(_has_legacy_digits(column) for column in self.columns.values())
        return LEGACY if exact else parse_precision("max")


def _figure(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _has_legacy_digits(column: NDArray[np.float64]) -> bool:
    """Whether six decimals (sixteen for small fractions) give exactly these numbers.

    A whole number divided by a power of ten is rounded like a decimal number that is read, so the test is
    equality.
    """
    values = column[np.isfinite(column)]
    decimals = np.where(is_small_fraction(values), 1e16, 1e6)
    with np.errstate(over="ignore"):
        return bool(np.all(np.rint(values * decimals) / decimals == values))
