"""Curves for plots, in few columns that hide no frame, and axes with round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.report.page.packing import storable
from acuity.text import clock

Floats = NDArray[np.float64]


class PlotSeries(NamedTuple):
    """A curve: its name, the numbers of its frames, and their values, of which NaN means none."""

    name: str
    rows: NDArray[np.int64]
    values: Floats


class Spans(NamedTuple):
    """A curve in the columns of a plot: the lowest, the highest and the mean of each column's frames."""

    low: Floats
    high: Floats
    mean: Floats
    starts: NDArray[np.int64]  # the place of each column's first value
    frames: int  # of the longest column; 1: every value has a column of its own


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


_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_SLACK: Final = 1e-9
_SAME: Final = 1e-12  # relative differences below this can't be told apart by sums of steps


class Tick(NamedTuple):
    """A place on an axis, and what is written there."""

    value: float
    text: str


class Axis(NamedTuple):
    """The ends of an axis, which are ticks of it if it shows values, and its ticks."""

    low: float
    high: float
    ticks: Sequence[Tick]
    title: str = ""

    def share(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far along the axis values are: 0 at its low end, 1 at its high end."""
        return np.asarray((values - self.low) / (self.high - self.low))


def value_axis(low: float, high: float, most: int) -> Axis:
    """An axis around the values with at most so many ticks, three at least; the outer ones are its ends."""
    most = max(most, 3)
    if not high - low > _SAME * max(abs(low), abs(high)):  # a constant: some room on both sides
        room = max(abs(low) * 0.01, 0.5)
        low, high = low - room, high + room
    step = _step((high - low) / (most - 1))
    while (last := math.ceil(high / step - _SLACK)) - (first := math.floor(low / step + _SLACK)) >= most:
        step = _step(step * 1.01)
    ticks = _ticks(step, first, last)
    return Axis(ticks[0].value, ticks[-1].value, ticks)


def frame_axis(first: int, last: int, most: int) -> Axis:
    """The axis of frame numbers, which may begin anywhere."""
    if last <= first:
        return Axis(first - 0.5, first + 0.5, [Tick(first, str(first))], "frame")
    step = max(_step((last - first) / max(most, 1)), 1.0)
    numbers = range(math.ceil(first / step - _SLACK), math.floor(last / step + _SLACK) + 1)
    return Axis(first, last, [Tick(number * step, f"{number * step:.0f}") for number in numbers], "frame")


def time_axis(seconds: float, most: int) -> Axis:
    """The axis of a clip's time from 0 on; short clips in seconds, others as a clock shows them."""
    wanted = seconds / max(most, 1)
    if seconds < 60:
        step = _step(wanted)
        return Axis(0.0, seconds, _ticks(step, 0, math.floor(seconds / step + _SLACK)), "time (s)")
    whole = next((step for step in _SECONDS if step >= wanted), _step(wanted / 3600) * 3600)
    ticks = [Tick(n * whole, clock(n * whole)) for n in range(math.floor(seconds / whole + _SLACK) + 1)]
    return Axis(0.0, seconds, ticks, "time (h:mm:ss)" if seconds >= 3600 else "time (min:s)")


def _step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less than this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((step * power for step in _STEPS if step * power >= least * (1 - _SLACK)), 10 * power)


def _ticks(step: float, first: int, last: int) -> list[Tick]:
    """Ticks at multiples of a step, with as many decimals as it has."""
    decimals = max(0, -math.floor(math.log10(step) + _SLACK))
    values = [number * step for number in range(first, last + 1)]
    short = decimals > 6 or max(map(abs, values)) >= 1e7
    return [Tick(value, f"{value:.6g}" if short else f"{value:z.{decimals}f}") for value in values]
