"""Writes a page with curves of quality over bitrate: one HTML file that needs nothing else.

The drawing is SVG made here, so the page works from a file, prints, and follows a light or dark display.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from acuity.report.tables import Table

_WIDTH: Final = 960
_HEIGHT: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 52
# Colours that are told apart with the usual kinds of colour blindness, on light and dark ground.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00", "#777777")
_SHAPES: Final = ("circle", "square", "diamond", "triangle")


class CurvePoint(NamedTuple):
    """One encode: its bitrate, its score, and what is shown when a pointer rests on it."""

    kbps: float
    score: float
    label: str
    chosen: bool = False


class Curve(NamedTuple):
    """The points of one encoder or size."""

    name: str
    points: Sequence[CurvePoint]


def curves_page(
    title: str,
    subtitle: str,
    curves: Sequence[Curve],
    tables: Sequence[tuple[str, Table]] = (),
    *,
    score_name: str = "VMAF",
    targets: Sequence[float] = (),
    notes: Sequence[str] = (),
) -> str:
    """The page as text."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(subtitle)}</p>",
        _figure([curve for curve in curves if curve.points], score_name, targets),
        *(f"<h2>{escape(heading)}</h2>\n{_table(table)}" for heading, table in tables),
    ]
    if notes:
        items = "\n".join(f"<li>{escape(note)}</li>" for note in notes)
        parts.append(f"<h2>Notes</h2>\n<ul>\n{items}\n</ul>")
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


_STYLE: Final = """\
:root { color-scheme: light dark; --text: #1a1a1a; --ground: #fff; --rule: #d6d6d6; --faint: #595959; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ececec; --ground: #161616; --rule: #3c3c3c; --faint: #a8a8a8; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { color: var(--faint); margin: .25rem 0 1rem; overflow-wrap: anywhere; }
figure { margin: 0; overflow-x: auto; } svg { width: 100%; min-width: 30rem; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: var(--text); } .grid { stroke: var(--rule); }
.target { stroke: var(--faint); stroke-dasharray: 6 4; } .line { fill: none; stroke-width: 2.5; }
.chosen { stroke: var(--text); stroke-width: 2.5; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--rule); text-align: left; }
.number { text-align: right; } td:not(:last-child) { white-space: nowrap; } ul { padding-left: 1.2rem; }
@media print { body { margin: 0; max-width: none; } }
"""


def _table(table: Table) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        made = (
            f'<{tag} class="number">{escape(cell)}</{tag}>' if right else f"<{tag}>{escape(cell)}</{tag}>"
            for cell, right in zip(cells, table.numeric, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    rows = "\n".join(row("td", cells) for cells in table.rows)
    return (
        f'<div class="wide"><table>\n<thead>{row("th", table.titles)}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


class _Axes(NamedTuple):
    """The ranges that are drawn: bitrate by its logarithm, score as it is."""

    low: float
    high: float
    bottom: float
    top: float

    @classmethod
    def of(cls, curves: Sequence[Curve], targets: Sequence[float]) -> _Axes:
        rates = [point.kbps for curve in curves for point in curve.points if point.kbps > 0]
        scores = [point.score for curve in curves for point in curve.points] + list(targets)
        bottom, top = min(scores), max(scores)
        pad = max((top - bottom) * 0.06, 0.5)
        return cls(min(rates) / 1.12, max(rates) * 1.12, bottom - pad, top + pad)

    def x(self, kbps: float) -> float:
        share = math.log(kbps / self.low) / math.log(self.high / self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, score: float) -> float:
        share = (score - self.bottom) / (self.top - self.bottom)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _figure(curves: Sequence[Curve], score_name: str, targets: Sequence[float]) -> str:
    if not any(point.kbps > 0 for curve in curves for point in curve.points):
        return "<p>No encode was measured, so there is no curve.</p>"
    axes = _Axes.of(curves, targets)
    parts = [*_grid(axes, score_name)]
    for target in targets:
        y = axes.y(target)
        parts.append(f'<line class="target" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
    for index, curve in enumerate(curves):
        parts += _drawn(axes, curve, _COLOURS[index % len(_COLOURS)], _SHAPES[index % len(_SHAPES)])
    parts += _legend(curves)
    summary = ", ".join(f"{curve.name}: {len(curve.points)} encodes" for curve in curves)
    label = escape(f"{score_name} over bitrate. {summary}", quote=True)
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">\n'
        + "\n".join(parts)
        + "\n</svg></figure>"
    )


def _grid(axes: _Axes, score_name: str) -> list[str]:
    parts = []
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in _rate_ticks(axes.low, axes.high):
        x = axes.x(value)
        text = f"{value / 1000:g} Mbit/s" if value >= 1000 else f"{value:g} kbit/s"
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{floor}"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 20}" text-anchor="middle">{text}</text>')
    for value in _score_ticks(axes.bottom, axes.top):
        y = axes.y(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    middle = (_TOP + floor) / 2
    parts.append(
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
        f"{escape(score_name)}</text>"
    )
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">bitrate</text>')
    return parts


def _rate_ticks(low: float, high: float) -> list[float]:
    """Round bitrates in the range, few enough for their texts."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= 9:
            break
    return ticks or [float(f"{math.sqrt(low * high):.2g}")]


def _score_ticks(bottom: float, top: float) -> list[float]:
    rough = (top - bottom) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    first = math.ceil(bottom / step)
    return [round(tick * step, 6) for tick in range(first, math.floor(top / step) + 1)]


def _drawn(axes: _Axes, curve: Curve, colour: str, shape: str) -> list[str]:
    points = sorted((point for point in curve.points if point.kbps > 0), key=lambda point: point.kbps)
    path = " ".join(f"{axes.x(point.kbps):.1f},{axes.y(point.score):.1f}" for point in points)
    parts = [f'<polyline class="line" points="{path}" stroke="{colour}"/>']
    for point in points:
        ring = ' class="chosen"' if point.chosen else ""
        mark = _mark(shape, axes.x(point.kbps), axes.y(point.score), 7 if point.chosen else 5)
        about = escape(f"{curve.name} {point.label}: {point.score:.2f} at {point.kbps:,.0f} kbit/s")
        parts.append(f'<g fill="{colour}"{ring}><title>{about}</title>{mark}</g>')
    return parts


def _mark(shape: str, x: float, y: float, r: float) -> str:
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
    }
    if shape not in corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    points = " ".join(f"{x + dx * r:.1f},{y + dy * r:.1f}" for dx, dy in corners[shape])
    return f'<polygon points="{points}"/>'


def _legend(curves: Sequence[Curve]) -> list[str]:
    """The names of the curves at the lower right, where curves of quality over bitrate leave room."""
    parts = []
    for index, curve in enumerate(reversed(curves)):
        number = len(curves) - 1 - index
        colour, shape = _COLOURS[number % len(_COLOURS)], _SHAPES[number % len(_SHAPES)]
        y = _HEIGHT - _BOTTOM - 18 - 20 * index
        parts.append(f'<g fill="{colour}">{_mark(shape, _WIDTH - _RIGHT - 14, y, 5)}</g>')
        parts.append(
            f'<text x="{_WIDTH - _RIGHT - 28}" y="{y + 4}" text-anchor="end">{escape(curve.name)}</text>'
        )
    return parts
