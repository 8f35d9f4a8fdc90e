"""Plots scores over time as a few lines of text."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.cli.style import clock

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_ASCII: Final = "  ..::##@"


def plot(
    scores: NDArray[np.float64],
    *,
    width: int = 64,
    rows: int = 4,
    seconds: float | None = None,
    unicode: bool = True,
) -> list[str]:
    """A bar chart; each column is the lowest score of a range of frames.

    The lowest and not the mean, so that a single bad frame stays visible.
    """
    finite = scores[np.isfinite(scores)]
    if not len(finite) or width < 1:
        return []
    lowest = stretches(finite, width)
    floor, ceiling = _range(float(lowest.min()), float(lowest.max()))
    levels = np.rint((lowest - floor) / (ceiling - floor) * (rows * 8 - 1)).astype(int) + 1
    ramp = _EIGHTHS if unicode else _ASCII
    labels = {0: f"{ceiling:g}", rows - 1: f"{floor:g}"}
    margin = max(len(label) for label in labels.values())
    side = "│" if unicode else "|"
    lines = []
    for row in range(rows):
        base = (rows - 1 - row) * 8
        bars = "".join(ramp[min(max(level - base, 0), 8)] for level in levels)
        lines.append(f"{labels.get(row, ''):>{margin}} {side}{bars}")
    start, end = "0", f"{len(finite)}"
    if seconds is not None:
        start, end = clock(0), clock(seconds, 0 if seconds >= 10 else 1)
    gap = max(len(lowest) - len(start) - len(end), 1)
    lines.append(f"{'':>{margin}}  {start}{'':{gap}}{end}")
    return lines


def stretches(scores: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """At most `width` values, each the lowest of an equal share of the scores."""
    if len(scores) <= width:
        return scores
    # Shares begin at even steps of time; array_split would make the first ones longer.
    begins = np.arange(width) * len(scores) // width
    return np.minimum.reduceat(scores, begins)


def _range(low: float, high: float) -> tuple[float, float]:
    """Round limits around the data, so that the two labels are short."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1.0))) / 2
    floor, ceiling = math.floor(low / step) * step, math.ceil(high / step) * step
    return floor, ceiling if ceiling > floor else floor + step
