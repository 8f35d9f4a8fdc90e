"""libvmaf's JSON report as a document: the numbers that its text would have, without the text.

For whoever passes a report on inside a program; `json_writer` is for files. Both have the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from acuity import __version__
from acuity.report.plain import plain
from acuity.report.precision import Precision, parse_precision
from acuity.report.source import KnowsUndefined, ReportSource


def as_document(
    source: ReportSource, precision: str | int = "legacy", *, extra: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The report; the entries of extra follow libvmaf's."""
    digits = parse_precision(precision)
    return {
        "version": __version__,
        "fps": float(f"{source.fps:.2f}") if math.isfinite(source.fps) else None,
        "frames": list(report_rows(source, digits)),
        "pooled_metrics": {name: _rounded(methods, digits) for name, methods in source.pooled().items()},
        "aggregate_metrics": _rounded(source.aggregate, digits),
        **plain(extra or {}),
    }


def report_rows(source: ReportSource, precision: Precision) -> Iterator[dict[str, Any]]:
    """Every frame that has figures; null stands for one that isn't a number, and not measured is left out."""
    undefined = source.undefined if isinstance(source, KnowsUndefined) else {}
    columns = {name: np.asarray(values, np.float64) for name, values in source.columns.items()}
    absent = {name: np.isnan(values) & ~undefined.get(name, np.False_) for name, values in columns.items()}
    numbers = [precision.numbers(values) for values in columns.values()]
    for row, frame in enumerate(source.frames):
        figures = {
            name: column[row] for name, column in zip(columns, numbers, strict=True) if not absent[name][row]
        }
        if figures:
            yield {"frameNum": int(frame), "metrics": figures}


def _rounded(figures: Mapping[str, float], precision: Precision) -> dict[str, Any]:
    values = precision.numbers(np.array([*figures.values()], np.float64))
    return dict(zip(figures, values, strict=True))
