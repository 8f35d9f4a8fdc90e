"""libvmaf's JSON report as a document: the numbers that its text would have, without the text.

For whoever passes a report on inside a program; `writers.py` is for files. Both have the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from acuity import __version__
from acuity.report.precision import Precision, parse_precision
from acuity.report.source import ReportSource


def plain(value: object) -> Any:
    """The value in Python's own types: None for numbers that aren't finite, text without invalid bytes."""
    if isinstance(value, np.generic):
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
    undefined: Mapping[str, Any] = getattr(source, "undefined", {})
    columns: dict[str, list[Any]] = {}
    for name, given in source.columns.items():
        values = np.asarray(given, np.float64)
        columns[name] = precision.numbers(values)
        for index in np.flatnonzero(np.isnan(values) & ~undefined.get(name, np.False_)).tolist():
            columns[name][index] = _ABSENT
    for frame, row in zip(source.frames, zip(*columns.values(), strict=True), strict=False):
        figures = {name: value for name, value in zip(columns, row, strict=True) if value is not _ABSENT}
        if figures:
            yield {"frameNum": int(frame), "metrics": figures}


_ABSENT = object()  # stands for a figure that wasn't measured


def _rounded(figures: Mapping[str, float], precision: Precision) -> dict[str, Any]:
    values = precision.numbers(np.array([*figures.values()], np.float64))
    return dict(zip(figures, values, strict=True))
