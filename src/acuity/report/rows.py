"""Formats the figures of frames, for all report formats.

A complete row of ordinary figures is formatted by one % operation, other rows figure by figure. Formatting is
most of the time for reports of a hundred thousand frames.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from acuity.report.precision import Precision, is_small_fraction
from acuity.report.source import KnowsUndefined, ReportSource

_CHUNK_ROWS = 4096


class RowStyle(NamedTuple):
    """The layout of one frame's figures in a format."""

    cell: str  # with {name} and {value}
    separator: str = ""
    absent: str | None = None  # printed for a missing figure; None leaves it out
    not_finite: str | None = None  # printed for a figure that isn't finite; None: as C prints it

    def pieces(self, name: str) -> tuple[str, str]:
        """The text before and after the value of a column."""
        before, after = self.cell.replace("{name}", name).split("{value}")
        return before, after


def format_rows(source: ReportSource, precision: Precision, style: RowStyle) -> Iterator[tuple[int, str]]:
    """The number and the formatted figures of every frame that has any, in order."""
    names = list(source.columns)
    if not names:
        return
    table = [np.asarray(source.columns[name], np.float64) for name in names]
    pieces = [style.pieces(name) for name in names]
    undefined = source.undefined if isinstance(source, KnowsUndefined) else {}
    template = style.separator.join(
        _literal(before) + precision.usual + _literal(after) for before, after in pieces
    )
    for start in range(0, len(source.frames), _CHUNK_ROWS):
        chunk = np.column_stack([column[start : start + _CHUNK_ROWS] for column in table])
        odd = ~np.isfinite(chunk)
        if not precision.uniform:
            odd |= is_small_fraction(chunk)
        numbers = source.frames[start : start + _CHUNK_ROWS]
        odd_rows = set(np.flatnonzero(odd.any(axis=1)).tolist())
        for row, (number, values) in enumerate(zip(numbers, chunk.tolist(), strict=True)):
            if row not in odd_rows:
                yield int(number), template % tuple(values)
                continue
            here = [name in undefined and bool(undefined[name][start + row]) for name in names]
            if any(here) or any(value == value for value in values):
                yield int(number), _format_odd_row(values, here, pieces, precision, style)


def _format_odd_row(
    values: list[float],
    undefined: list[bool],
    pieces: list[tuple[str, str]],
    precision: Precision,
    style: RowStyle,
) -> str:
    cells = []
    for value, computed, (before, after) in zip(values, undefined, pieces, strict=True):
        if value != value and not computed:
            if style.absent is not None:
                cells.append(before + style.absent + after)
            continue
        finite = math.isfinite(value)
        text = precision.format(value) if finite or style.not_finite is None else style.not_finite
        cells.append(before + text + after)
    return style.separator.join(cells)


def _literal(text: str) -> str:
    return text.replace("%", "%%")
