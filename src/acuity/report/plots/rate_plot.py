"""Draws curves of quality over bitrate as SVG: small enough to stand in a page, where no script runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from acuity.report.page.page_document import RatePoint, Rates
from acuity.report.plots.axes import Axis, value_axis
from acuity.report.plots.figure import COLOURS, FAINT, GREY, INK, PAPER
from acuity.text import one_line, shortened

_WIDTH: Final = 960
_HEIGHT: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 52
_SHAPES: Final = ("circle", "square", "diamond", "triangle")
_LONGEST_NAME: Final = 48  # characters
_MOST_NAMED: Final = 12  # curves: the names of more would cover them


def rate_plot(
    curves: Sequence[Rates],
    *,
    score_name: str = "VMAF",
    targets: Sequence[float] = (),
    encodes: Sequence[str] = (),
) -> str:
    """The plot as an SVG element; empty if no encode has a bitrate and a score.

    `encodes` are names of curves over time, whose colours the points of these encodes have too.
    """
    drawn = [(one_line(curve.name), curve) for curve in curves if any(_known(curve))]
    if not drawn:
        return ""
    axes = _Axes.of([curve for _, curve in drawn], targets)
    parts = [*_grid(axes, one_line(score_name))]
    dashed = f'class="target" stroke="{GREY}" stroke-dasharray="6 4"'
    parts += [_line(_LEFT, axes.y(target), _WIDTH - _RIGHT, axes.y(target), dashed) for target in targets]
    colours = {name: _look(number)[0] for number, name in enumerate(encodes)}
    if not all(one_line(point.label) in colours for _, curve in drawn for point in _known(curve)):
        colours = {}
    for index, (name, curve) in enumerate(drawn):
        colour, shape = _look(index)
        parts += _drawn(axes, name, curve, GREY if colours else colour, shape, colours)
    parts += _legend([name for name, _ in drawn], GREY if colours else None)
    counts = [(name, len(_known(curve))) for name, curve in drawn]
    summary = ", ".join(f"{name}: {count} encode{'s' * (count != 1)}" for name, count in counts)
    label = escape(f"{one_line(score_name)} over bitrate. {summary}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" font-family="sans-serif" '
        f'font-size="15" fill="{INK}">\n<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _known(curve: Rates) -> list[RatePoint]:
    """The encodes that can be drawn, by their bitrates."""
    known = (point for point in curve.points if point.kbps > 0 and math.isfinite(point.score))
    return sorted(known, key=lambda point: point.kbps)


class _Axes(NamedTuple):
    """The ranges that are drawn: bitrate by its logarithm, score as it is."""

    low: float
    high: float
    up: Axis

    @classmethod
    def of(cls, curves: Sequence[Rates], targets: Sequence[float]) -> _Axes:
        points = [point for curve in curves for point in _known(curve)]
        rates = [point.kbps for point in points]
        scores = [*(point.score for point in points), *targets]
        return cls(min(rates) / 1.12, max(rates) * 1.12, value_axis(min(scores), max(scores), 8))

    def x(self, kbps: float) -> float:
        share = math.log(kbps / self.low) / math.log(self.high / self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, score: float) -> float:
        share = (score - self.up.low) / (self.up.high - self.up.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _grid(axes: _Axes, score_name: str) -> Iterator[str]:
    floor, right, faint = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, f'stroke="{FAINT}"'
    for value in _rate_ticks(axes.low, axes.high):
        x = axes.x(value)
        yield _line(x, _TOP, x, floor, faint)
        yield _text(x, floor + 20, f"{value / 1000:g} Mbit/s" if value >= 1000 else f"{value:g} kbit/s")
    for tick in axes.up.ticks:
        y = axes.y(tick.value)
        yield _line(_LEFT, y, right, y, faint)
        yield _text(_LEFT - 8, y + 4, tick.text, "end")
    middle = (_TOP + floor) / 2
    yield _text(16, middle, score_name, turn=f' transform="rotate(-90 16 {middle})"')
    yield _text((_LEFT + right) / 2, _HEIGHT - 8, "bitrate")


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", turn: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(text)}</text>'


def _rate_ticks(low: float, high: float) -> list[float]:
    """Round bitrates in the range, few enough for their texts."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= 9:
            break
    return ticks or [float(f"{math.sqrt(low * high):.2g}")]


def _drawn(
    axes: _Axes, name: str, curve: Rates, colour: str, shape: str, colours: Mapping[str, str]
) -> list[str]:
    points = _known(curve)
    path = " ".join(f"{axes.x(point.kbps):.1f},{axes.y(point.score):.1f}" for point in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>']
    for point in points:
        ring = f' class="chosen" stroke="{INK}" stroke-width="2.5"' if point.chosen else ""
        mark = _mark(shape, axes.x(point.kbps), axes.y(point.score), 7 if point.chosen else 5)
        label = one_line(point.label)
        about = escape(f"{name} {label}: {point.score:.2f} at {point.kbps:,.0f} kbit/s")
        parts.append(f'<g fill="{colours.get(label, colour)}"{ring}><title>{about}</title>{mark}</g>')
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


def _look(number: int) -> tuple[str, str]:
    """The colour and the shape of a curve; those beyond the table get another combination."""
    again, place = divmod(number, len(COLOURS))
    return COLOURS[place], _SHAPES[(place + again) % len(_SHAPES)]


def _legend(names: Sequence[str], only: str | None) -> list[str]:
    """The names of the curves at the lower right, where curves of quality over bitrate leave room."""
    parts = []
    shown = list(enumerate(names))[:_MOST_NAMED]
    for row, (number, name) in enumerate(reversed(shown)):
        colour, shape = _look(number)
        y = _HEIGHT - _BOTTOM - 18 - 20 * row
        parts.append(f'<g fill="{only or colour}">{_mark(shape, _WIDTH - _RIGHT - 14, y, 5)}</g>')
        parts.append(_text(_WIDTH - _RIGHT - 28, y + 4, shortened(name, _LONGEST_NAME), "end"))
    if len(names) > _MOST_NAMED:
        y, more = _HEIGHT - _BOTTOM - 14 - 20 * _MOST_NAMED, len(names) - _MOST_NAMED
        parts.append(_text(_WIDTH - _RIGHT - 8, y, f"and {more} more", "end"))
    return parts
