"""The plot of `acuity score --plot`: all scores and metrics over time, as a picture or as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.cli.graphics import Terminal, kitty, terminal_of
from acuity.cli.plot import plot
from acuity.cli.style import Style
from acuity.report.plots.axes import PlotSeries
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
    """Curves that share a scale."""

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
