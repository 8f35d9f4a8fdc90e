"""The plot of `acuity score --plot`: all scores and metrics over time, as a picture or as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.cli.terminal.graphics import Terminal, kitty, terminal_of
from acuity.cli.terminal.style import Style, clock
from acuity.report.page.packing import storable
from acuity.report.plots.axes import Axis, PlotSeries, column_spans, value_axis
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.scoring.report import ScoreReport

_SPARE: Final = 4  # lines of the terminal for the prompt, and what was said before
_FEWEST: Final = 5  # rows of a panel
_MOST: Final = 24
_HIGHEST: Final = 0.45  # of its width, that a picture of one panel is high
_LARGEST: Final = (2400, 1600)  # pixels: more take long to send
_SMALLEST: Final = (240, 120)


class Panel(NamedTuple):
    label: str
    series: Sequence[PlotSeries]


def clip_seconds(report: ScoreReport) -> float | None:
    """How long the scored frames last; None if no rate is known."""
    frames = report.results.frames
    if not len(frames):
        return None
    start, end = report.time_of(frames[0]), report.timeline.at(frames[-1] + 1)
    return end - start if start is not None and end is not None else None


def panels(report: ScoreReport) -> list[Panel]:
    """The scores, which share a scale, and each metric; without either, the first feature."""
    results = report.results
    rows = np.asarray(results.frames, np.int64)

    def series(key: str, name: str) -> PlotSeries:
        return PlotSeries(name, rows, results.columns[key])

    def named(key: str) -> str:
        return "VMAF" if key == "vmaf" else key

    found = []
    scores = [series(key, results.label(key)) for key in report.scores]
    if scores:
        first = named(report.scores[0])
        found.append(Panel(first if len(scores) == 1 else "score", scores))
    for headline in report.headlines:
        if headline.key not in report.scores and headline.key in results.columns:
            unit = f" ({headline.metric.unit})" if headline.metric.unit else ""
            found.append(Panel(f"{headline.metric.name}{unit}", [series(headline.key, headline.key)]))
    if not found and results.columns:
        key = next(iter(results.columns))
        found.append(Panel(key, [series(key, key)]))
    return found


def score_plot(report: ScoreReport, style: Style, wanted: str) -> list[str]:
    """The plot in the way that the terminal shows best, or in the one that is wanted."""
    terminal = terminal_of(sys.stdout, wanted)
    shown, seconds = panels(report), clip_seconds(report)
    if terminal.way == "text" or not shown:
        return list(_text(shown, style, terminal, seconds))
    return [_picture(shown, terminal, seconds), ""]


def _text(shown: Sequence[Panel], style: Style, terminal: Terminal, seconds: float | None) -> Iterator[str]:
    curves = [(panel, one) for panel in shown for one in panel.series]
    lines = terminal.lines - _SPARE if style.terminal else _SPARE * 5
    rows = min(max(lines // max(len(curves), 1) - 3, _FEWEST), _MOST)
    for panel, one in curves:
        name = one.name if len(panel.series) > 1 else panel.label
        drawn = plot(one.values, width=style.columns - 12, rows=rows, seconds=seconds, unicode=style.unicode)
        yield f"  {style('bold', one_line(name))}"
        yield from (f"  {line}" for line in drawn or ["no frame has a finite value"])
        yield ""


def _picture(shown: Sequence[Panel], terminal: Terminal, seconds: float | None) -> str:
    """The panels below each other as one picture, in the terminal's protocol."""
    from acuity.png import rgb_png
    from acuity.report.plots.png_plot import plot_pixels

    width = max(min(terminal.width, _LARGEST[0]), _SMALLEST[0])
    room = terminal.height * max(terminal.lines - _SPARE, 1) // max(terminal.lines, 1)
    room = min(room * width // max(terminal.width, 1), _LARGEST[1])
    height = max(min(room // len(shown), int(width * _HIGHEST)), _SMALLEST[1])
    image = np.concatenate(
        [
            plot_pixels(
                panel.series, width=width, height=height, title="", seconds=seconds, label=panel.label
            )
            for panel in shown
        ]
    )
    return kitty(rgb_png(image), terminal.columns) if terminal.way == "kitty" else sixel(image)


_BAND: Final = 6  # rows of a character
_MOST_COLOURS: Final = 250
_FIRST: Final = 63  # the code of a character without dots


def sixel(image: NDArray[np.uint8]) -> str:
    """A picture of (height, width, 3) as an escape sequence; colours that are much alike become one."""
    from PIL import Image

    height, width, _ = image.shape
    reduced = Image.fromarray(image).quantize(_MOST_COLOURS)
    places, palette = np.asarray(reduced), np.rint(np.array(reduced.getpalette()) / 2.55).astype(int)
    colours = "".join(
        f"#{number};2;{';'.join(map(str, colour))}"
        for number, colour in enumerate(palette.reshape(-1, 3).tolist())
    )
    bands = "-".join(_band(places[start : start + _BAND]) for start in range(0, height, _BAND))
    return f'\033Pq"1;1;{width};{height}{colours}{bands}\033\\'


def _band(rows: NDArray[np.uint8]) -> str:
    """Six rows: for each colour the dots that have it, then back to the start for the next colour."""
    weights = (1 << np.arange(len(rows)))[:, None]
    lines = []
    for colour in np.unique(rows).tolist():
        codes = ((rows == colour) * weights).sum(0) + _FIRST
        lines.append(f"#{colour}{''.join(_runs(codes))}")
    return "$".join(lines)


def _runs(codes: NDArray[np.int64]) -> Iterator[str]:
    """The characters, with a number before one that is repeated; empty ones at the end are left out."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(starts, append=len(codes)).tolist()
    runs = list(zip(codes[starts].tolist(), lengths, strict=True))
    if runs and runs[-1][0] == _FIRST:
        runs.pop()
    for code, length in runs:
        yield f"!{length}{chr(code)}" if length > 3 else chr(code) * length


# ---- curves as text --------------------------------------------------------------------------------


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
    repeat = max(width * wide // max(len(across.low), 1), 1)  # columns of dots of a value
    lit = _lit(across.low, across.high, axis, last, high, repeat)
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
