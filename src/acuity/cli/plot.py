"""Plots scores over time as text: each column reaches from the lowest to the highest of its frames.

Columns that don't touch are joined, so that a curve is a line: the dots between two values are halved.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.cli.style import clock
from acuity.report.page.packing import storable
from acuity.report.plots.plot_series import column_spans
from acuity.report.plots.ticks import Axis, value_axis

_BRAILLE: Final = 0x2800
# The bit of each dot of a character, by its row and column.
_DOTS: Final = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_ASCII: Final = " '.:"  # no dot, the upper one, the lower one, both
_ASCII_DOTS: Final = np.array([[1], [2]])
_ROWS_A_LABEL: Final = 2
_TICKS: Final = 5  # at least, so that the scale is no wider than it must be; not all have room for a label


def plot(
    scores: NDArray[np.float64],
    *,
    width: int = 64,
    rows: int = 4,
    seconds: float | None = None,
    unicode: bool = True,
) -> list[str]:
    """A chart of at most so many columns of letters, with its scale at the left and the time below.

    Where frames share a column of dots, it reaches from the lowest to the highest, and the last line says so:
    a single bad frame stays visible.
    """
    finite = storable(scores)
    if not finite.any() or width < 1 or rows < 1:
        return []
    dots = _DOTS if unicode else _ASCII_DOTS
    high, wide = dots.shape
    across = column_spans(scores, width * wide)
    ticks = max(rows // _ROWS_A_LABEL + 1, _TICKS)
    axis = value_axis(float(scores[finite].min()), float(scores[finite].max()), ticks)
    lit = _lit(across.low, across.high, axis, rows * high, _enlargement(len(across.low), width * wide))
    cells = _cells(lit, dots)
    labels = _labels(axis, rows, high)
    margin = max(len(label) for label in labels.values())
    side = "│" if unicode else "|"
    lines = []
    for row, line in enumerate(cells):
        drawn = "".join(chr(_BRAILLE + bits) if bits else " " for bits in line)
        drawn = drawn if unicode else "".join(_ASCII[bits] for bits in line)
        lines.append(f"{labels.get(row, ''):>{margin}} {side}{drawn}".rstrip())
    lines.append(f"{'':>{margin}}  {_below(len(scores), across.frames, seconds, len(cells[0]))}")
    return lines


def _enlargement(columns: int, room: int) -> int:
    """How many columns of dots a value gets, where there are few."""
    return max(room // max(columns, 1), 1)


def _lit(
    low: NDArray[np.float64], high: NDArray[np.float64], axis: Axis, dots: int, repeat: int
) -> NDArray[np.bool_]:
    """Which dots are drawn; the top row is the high end of the axis, the last one its low end."""
    down = np.arange(dots)[:, None]
    with np.errstate(invalid="ignore"):
        first = np.rint((1 - axis.share(high)) * (dots - 1))
        last = np.rint((1 - axis.share(low)) * (dots - 1))
        first, last = _joined(first.repeat(repeat), last.repeat(repeat))
        lit = (down >= first) & (down <= last)  # NaN: no dot
    return np.asarray(lit)


def _joined(
    first: NDArray[np.float64], last: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns that reach towards their neighbours, half of the way each: no dot is beyond the two.

    Every value keeps its place, as a column only grows.
    """
    joined_first, joined_last = first.copy(), last.copy()
    falls = first[1:] - last[:-1]  # dots from the end of a column down to the next one
    rises = first[:-1] - last[1:]
    for gap, upper, lower in ((falls, 0, 1), (rises, 1, 0)):
        at = np.flatnonzero(gap > 1)
        half = np.floor((gap[at] - 1) / 2)
        joined_last[at + upper] = np.maximum(joined_last[at + upper], last[at + upper] + half)
        joined_first[at + lower] = np.minimum(
            joined_first[at + lower], first[at + lower] - (gap[at] - 1 - half)
        )
    return joined_first, joined_last


def _cells(lit: NDArray[np.bool_], dots: NDArray[np.int64]) -> list[list[int]]:
    """The bits of each character."""
    high, wide = dots.shape
    padded = np.pad(lit, ((0, 0), (0, -lit.shape[1] % wide)))
    blocks = padded.reshape(len(padded) // high, high, -1, wide)
    found: list[list[int]] = np.einsum("rhcw,hw->rc", blocks.astype(np.int64), dots).tolist()
    return found


def _labels(axis: Axis, rows: int, high: int) -> dict[int, str]:
    """The text of each row that has a tick; both ends come first."""
    found: dict[int, str] = {}
    ticks = [axis.ticks[-1], axis.ticks[0], *axis.ticks[1:-1]]
    for tick, share in zip(ticks, axis.share(np.array([tick.value for tick in ticks])).tolist(), strict=True):
        found.setdefault(int(np.rint((1 - share) * (rows * high - 1))) // high, tick.text)
    return found


def _below(count: int, together: int, seconds: float | None, width: int) -> str:
    """The start, what a column is, where frames share one, and the end."""
    start, end = "0", f"{count}"
    if seconds is not None:
        start, end = clock(0), clock(seconds, 0 if seconds >= 10 else 1)
    gap = max(width - len(start) - len(end), 1)
    said = f"lowest to highest of up to {together} frames" if together > 1 else ""
    return f"{start}{said if len(said) + 4 <= gap else '':^{gap}}{end}"
