"""Plots scores over time as text: each column reaches from the lowest to the highest of its frames.

Columns that don't touch are joined, so that a curve is a line: the dots between two values are halved.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.cli.style import clock
from acuity.report.page.packing import storable
from acuity.report.plots.axes import Axis, column_spans, value_axis

_BRAILLE: Final = 0x2800
# The bit of each dot of a character, by its row and column.
_DOTS: Final = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_ASCII: Final = " '.:"  # no dot, the upper one, the lower one, both
_ASCII_DOTS: Final = np.array([[1], [2]])
_FEWEST_ROWS: Final = 3  # two ends and something between them
_MOST_TICKS: Final = 7
_FEW_TICKS: Final = 0.75  # what an axis with three ticks is worth beside one with more


def plot(
    scores: NDArray[np.float64],
    *,
    width: int = 64,
    rows: int = 5,
    seconds: float | None = None,
    unicode: bool = True,
) -> list[str]:
    """A chart of at most so many columns and rows of letters, with its scale at the left and the time below.

    Every tick has its label, which stands in the row whose middle is its value.

    Where frames share a column of dots, it reaches from the lowest to the highest, and the last line says so:
    a single bad frame stays visible.
    """
    finite = storable(scores)
    if not finite.any() or width < 1 or rows < 1:
        return []
    dots = _DOTS if unicode else _ASCII_DOTS
    high, wide = dots.shape
    across = column_spans(scores, width * wide)
    axis, apart = _scale(float(scores[finite].min()), float(scores[finite].max()), max(rows, _FEWEST_ROWS))
    last = apart * (len(axis.ticks) - 1)
    lit = _lit(across.low, across.high, axis, last, high, _enlargement(len(across.low), width * wide))
    cells = _cells(lit, dots)
    labels = {last - apart * number: tick.text for number, tick in enumerate(axis.ticks)}
    margin = max(len(label) for label in labels.values())
    side = "│" if unicode else "|"
    lines = []
    for row, line in enumerate(cells):
        drawn = "".join(chr(_BRAILLE + bits) if bits else " " for bits in line)
        drawn = drawn if unicode else "".join(_ASCII[bits] for bits in line)
        lines.append(f"{labels.get(row, ''):>{margin}} {side}{drawn}".rstrip())
    lines.append(f"{'':>{margin}}  {_below(len(scores), across.frames, seconds, len(cells[0]))}")
    return lines


def _scale(low: float, high: float, rows: int) -> tuple[Axis, int]:
    """The axis that shows the values largest in so many rows, and how many rows its ticks are apart."""

    def worth(found: tuple[Axis, int]) -> float:
        axis, apart = found
        steps = len(axis.ticks) - 1
        return apart * steps / (axis.high - axis.low) * (1 if steps > 2 else _FEW_TICKS)

    axes = (value_axis(low, high, most) for most in range(min(rows, _MOST_TICKS), 2, -1))
    return max(((axis, (rows - 1) // (len(axis.ticks) - 1)) for axis in axes), key=worth)


def _enlargement(columns: int, room: int) -> int:
    """How many columns of dots a value gets, where there are few."""
    return max(room // max(columns, 1), 1)


def _lit(
    low: NDArray[np.float64], high: NDArray[np.float64], axis: Axis, last: int, dots: int, repeat: int
) -> NDArray[np.bool_]:
    """Which dots are drawn; the ends of the axis are in the middle of the first row and of the last."""
    down = np.arange((last + 1) * dots)[:, None]

    def place(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.floor((1 - axis.share(values)) * last * dots + dots / 2))

    with np.errstate(invalid="ignore"):
        first, end = _joined(place(high).repeat(repeat), place(low).repeat(repeat))
        lit = (down >= first) & (down <= end)  # NaN: no dot
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


def _below(count: int, together: int, seconds: float | None, width: int) -> str:
    """The start, what a column is, where frames share one, and the end."""
    start, end = "0", f"{count}"
    if seconds is not None:
        start, end = clock(0), clock(seconds, 0 if seconds >= 10 else 1)
    gap = max(width - len(start) - len(end), 1)
    said = f"lowest to highest of up to {together} frames" if together > 1 else ""
    return f"{start}{said if len(said) + 4 <= gap else '':^{gap}}{end}"
