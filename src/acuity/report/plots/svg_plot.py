"""Plots scores over time as SVG: small enough to stand in a page, and fit for a paper at any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Final, Unpack

import numpy as np

from acuity.report.plots.axes import Floats, PlotSeries
from acuity.report.plots.figure import PAPER, Area, Figure, Line, PlotStyle, Words, figure

# Columns of all curves together: with these a plot in a page takes less than 15 KB.
_COLUMNS: Final = 420
_NAMED: Final = 12  # columns fewer for each curve, whose name takes their room
_LEAST: Final = 16
_POINTS: Final = 800  # values of all curves together that need no columns
_FONT: Final = "Helvetica, Arial, Liberation Sans, sans-serif"


def svg_plot(series: Sequence[PlotSeries], **look: Unpack[PlotStyle]) -> str:
    """The plot as an SVG element, which is also a whole file.

    Unless columns are given, there are as many as keep the text below 15 KB for a few curves.
    """
    curves, values = max(len(series), 1), max((len(one.values) for one in series), default=0)
    fitting = values if values * curves <= _POINTS else _COLUMNS // curves - _NAMED
    look["columns"] = look.get("columns") or max(fitting, _LEAST)
    return _svg(figure(series, **look))


def _svg(drawn: Figure) -> str:
    size = f'width="{drawn.width}" height="{drawn.height}" viewBox="0 0 {drawn.width} {drawn.height}"'
    shapes = "\n".join(_DRAWERS[type(part)](part) for part in drawn.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">\n'
        f"<title>{_text(drawn.title or drawn.description)}</title>\n"
        f"<desc>{_text(drawn.description)}</desc>\n"
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        f"{shapes}\n</svg>\n"
    )


def _line(part: Line) -> str:
    ends = ' stroke-linejoin="round" stroke-linecap="round"' if len(part.points) != 2 else ""
    if part.dash:
        ends = f' stroke-dasharray="{" ".join(f"{length:g}" for length in part.dash)}"'
    stroke = f'stroke="{part.colour}" stroke-width="{part.width:.3g}"{ends}'
    return f'<path d="{_path(part.points)}" fill="none" {stroke}/>'


def _area(part: Area) -> str:
    there, back = (np.column_stack((part.x, edge)) for edge in (part.top, part.bottom))
    path = _path(np.concatenate((there, back[::-1])))
    # The edge keeps an area visible that is thinner than a pixel.
    return (
        f'<path d="{path}z" fill="{part.colour}" fill-opacity="{part.opacity:g}" stroke="{part.colour}" '
        f'stroke-opacity="{part.opacity:g}" stroke-width=".8"/>'
    )


def _words(part: Words) -> str:
    turn = f' transform="rotate(-90 {part.x:.1f} {part.y:.1f})"' if part.upwards else ""
    anchor = f' text-anchor="{part.anchor}"' if part.anchor != "start" else ""
    bold = ' font-weight="bold"' if part.bold else ""
    return (
        f'<text x="{part.x:.1f}" y="{part.y:.1f}" font-size="{part.size:.3g}" fill="{part.colour}"'
        f"{anchor}{bold}{turn}>{_text(part.text)}</text>"
    )


_DRAWERS: Final[dict[type, Callable[[Any], str]]] = {Line: _line, Area: _area, Words: _words}


def _path(points: Floats) -> str:
    """The points as a path: one place, then steps in tenths of a pixel, which take the fewest letters."""
    tenths = np.rint(points * 10).astype(np.int64)
    first = "M{} {}".format(*map(_tenth, tenths[0].tolist()))
    steps = " ".join(f"{_tenth(x)} {_tenth(y)}" for x, y in np.diff(tenths, axis=0).tolist())
    return f"{first}l{steps}".replace(" -", "-") if steps else f"{first}h0"


def _tenth(number: int) -> str:
    """A tenth of a whole number, in as few letters as it takes."""
    sign, whole, rest = "-" * (number < 0), abs(number) // 10, abs(number) % 10
    return f"{sign}{whole or ''}.{rest}" if rest else f"{sign}{whole}"


def _text(text: str) -> str:
    """Text for XML, which has no control characters."""
    return escape("".join(c if c.isprintable() else " " for c in text).encode("utf-8", "replace").decode())
