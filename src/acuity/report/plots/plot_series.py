"""PlotSeries: one curve of a plot, and how many frames become few columns without hiding one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.report.page.packing import storable

Floats = NDArray[np.float64]


class PlotSeries(NamedTuple):
    """A curve: its name, the numbers of its frames, and their values, of which NaN means none."""

    name: str
    rows: NDArray[np.int64]
    values: Floats


class Spans(NamedTuple):
    """What the columns of a plot show: the lowest, the highest and the mean of their frames."""

    low: Floats
    high: Floats
    mean: Floats
    starts: NDArray[np.int64]  # the place of each column's first value
    frames: int  # of the longest column; 1: every value has a column of its own


def spans(values: Floats, columns: int) -> tuple[Floats, Floats]:
    """The lowest and the highest of at most so many equal shares of the values; NaN: a share has none."""
    found = column_spans(values, columns)
    return found.low, found.high


def column_spans(values: Floats, columns: int) -> Spans:
    """The values in at most so many columns; values that aren't finite, or absurdly large, are left out."""
    values = np.asarray(values, np.float64)
    values = np.where(storable(values), values, np.nan)
    count, columns = len(values), max(columns, 1)
    if count <= columns:
        return Spans(values, values, values, np.arange(count), 1)
    # Shares begin at even steps of time; array_split would make the first ones longer.
    starts = np.arange(columns) * count // columns
    there = np.isfinite(values)
    numbers = np.add.reduceat(there.astype(np.int64), starts)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts)
    return Spans(
        np.fmin.reduceat(values, starts),
        np.fmax.reduceat(values, starts),
        np.divide(sums, numbers, out=np.full(columns, np.nan), where=numbers > 0),
        starts,
        int(np.diff(starts, append=count).max()),
    )
