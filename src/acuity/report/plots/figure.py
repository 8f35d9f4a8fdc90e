"""A plot of curves over time as lines, areas and words at places in pixels, which SVG and PNG draw.

Where a curve has more frames than the plot has columns, each column shows the lowest to the highest of its
frames as an area, and their mean as a line; words below the plot say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from acuity.report.page.packing import storable
from acuity.report.plots.axes import (
    Axis,
    Floats,
    PlotSeries,
    Spans,
    column_spans,
    frame_axis,
    time_axis,
    value_axis,
)
from acuity.text import note, shortened

# Okabe and Ito's colours, told apart with the usual kinds of colour blindness; the lighter ones are darkened
# until thin lines of them are seen on white. The dashes tell curves apart without any colour.
COLOURS: Final = ("#0072b2", "#d55e00", "#007d5a", "#a8518a", "#7a6000", "#000000", "#3d9ad1", "#777777")
DASHES: Final = ((), (9, 4), (3, 3), (10, 3, 2, 3), (14, 5), (6, 2, 2, 2, 2, 2), (5, 5), (2, 5))
INK: Final = "#1a1a1a"
FAINT: Final = "#d9d9d9"
GREY: Final = "#595959"
PAPER: Final = "#ffffff"
_BAND: Final = 0.28  # opacity of the areas
_USUAL: Final = (1200, 480)  # the size for which letters have these heights
_TEXT: Final = 21.0
_TITLE: Final = 25.0
_SMALL: Final = 17.0
_LEAST_SCALE: Final = 0.65  # so that letters of small plots can be read
_LETTER: Final = 0.58  # a letter's width as a share of its height, at most, about
_KEY_ROWS: Final = 3
_MORE: Final = 140  # pixels of the words about further names
_ROW: Final = 30  # pixels of a row of names
_NAME: Final = 48  # characters of a name


class Line(NamedTuple):
    """A line through some points; of one point, a dot."""

    points: Floats  # (n, 2): x and y
    colour: str
    width: float
    dash: tuple[float, ...] = ()


class Area(NamedTuple):
    """The area between two lines over the same places."""

    x: Floats
    top: Floats
    bottom: Floats
    colour: str
    opacity: float


class Words(NamedTuple):
    """A text; its place is on its baseline, at its start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    anchor: str = "start"
    colour: str = INK
    bold: bool = False
    upwards: bool = False


class Figure(NamedTuple):
    """The parts of a plot in the order in which they are drawn."""

    width: int
    height: int
    title: str
    description: str  # for those who can't see it
    parts: list[Line | Area | Words]


class _Room(NamedTuple):
    """Where the curves are, and how large letters are."""

    left: float
    top: float
    right: float
    bottom: float
    scale: float

    @property
    def wide(self) -> float:
        return max(self.right - self.left, 1.0)

    @property
    def high(self) -> float:
        return max(self.bottom - self.top, 1.0)


class _Scales(NamedTuple):
    """Turns frames and values into places."""

    along: Axis
    up: Axis
    room: _Room
    first: int  # frame, and where on the axis it is
    start: float
    unit: float  # units of the axis that a frame lasts

    def x(self, frames: Floats) -> Floats:
        values = self.start + (frames - self.first) * self.unit
        return np.asarray(self.room.left + self.along.share(values) * self.room.wide)

    def y(self, values: Floats) -> Floats:
        return np.asarray(self.room.bottom - self.up.share(values) * self.room.high)


class PlotStyle(TypedDict, total=False):
    """How a plot looks, as figure() takes it."""

    width: int
    height: int
    title: str
    seconds: float | None
    label: str
    columns: int | None


def figure(
    series: Sequence[PlotSeries],
    *,
    width: int = 1200,
    height: int = 480,
    title: str = "",
    seconds: float | None = None,
    label: str = "VMAF",
    columns: int | None = None,
) -> Figure:
    """The plot; `seconds` is how long the frames last, None shows their numbers instead.

    `columns` is the most that a curve is divided into; None: as many as the pixels show.
    """
    title, label = note(title, 120), note(label, 60)
    scale = max(min(width / _USUAL[0], height / _USUAL[1]), _LEAST_SCALE)
    limits = _limits(series)
    names = [shortened(note(one.name), _NAME) for one in series] if len(series) > 1 else []
    key, rows = _key(names, (16 + 36 * bool(title)) * scale, width, scale)
    up = value_axis(*(limits or (0.0, 1.0)), max(int((height - 130 * scale) / (48 * scale)), 3))
    margin = max(len(tick.text) for tick in up.ticks) * _LETTER * _TEXT + 26 + 34 * bool(label)
    top = 22 + 36 * bool(title) + rows * _ROW
    room = _Room(margin * scale, top * scale, width - 28 * scale, height, scale)
    found = [column_spans(one.values, columns or _columns(len(one.values), room)) for one in series]
    said = _said(series, found, limits)
    room = room._replace(bottom=height - (96 if said else 72) * scale)
    scales = _scales(series, seconds, up, room)
    parts: list[Line | Area | Words] = [*_axes(scales, label), *key]
    if title:
        shown = shortened(title, max(int(width / (_TITLE * _LETTER * scale)), 8))
        parts.append(Words(24 * scale, 34 * scale, shown, _TITLE * scale, bold=True))
    for number, (one, spans) in enumerate(zip(series, found, strict=True)):
        parts += _curve(one, spans, scales, number)
    if said:
        parts.append(Words(room.right, height - 14 * scale, said, _SMALL * scale, "end", GREY))
    return Figure(width, height, title, _description(series, label, limits, said), parts)


def _said(series: Sequence[PlotSeries], found: Sequence[Spans], limits: tuple[float, float] | None) -> str:
    """The words below the plot: what an area is, and what could not be drawn."""
    longest = max((spans.frames for spans in found), default=1)
    said = f"area: lowest to highest of up to {longest} frames; line: their mean" if longest > 1 else ""
    huge = sum(int((np.isfinite(one.values) & ~storable(one.values)).sum()) for one in series)
    if limits is None:
        return "no frame has a finite value" if not huge else f"{huge:,} values are too large to be drawn"
    return "; ".join(filter(None, [f"{huge:,} values are too large to be drawn" if huge else "", said]))


def _columns(count: int, room: _Room) -> int:
    """How many columns values are divided into: one for each two pixels, if each has less than one."""
    return count if count <= room.wide else max(int(room.wide / 2), 1)


def _limits(series: Sequence[PlotSeries]) -> tuple[float, float] | None:
    finite = np.concatenate([np.zeros(0), *(one.values[storable(one.values)] for one in series)])
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def _scales(series: Sequence[PlotSeries], seconds: float | None, up: Axis, room: _Room) -> _Scales:
    ends = [(int(one.rows[0]), int(one.rows[-1])) for one in series if len(one.rows)]
    first, last = min((first for first, _ in ends), default=0), max((last for _, last in ends), default=0)
    most = max(int(room.wide / (115 * room.scale)), 2)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        return _Scales(frame_axis(first, last, most), up, room, first, float(first), 1.0)
    return _Scales(time_axis(seconds, most), up, room, first, 0.0, seconds / (last + 1 - first))


def _axes(scales: _Scales, label: str) -> Iterator[Line | Words]:
    left, top, right, bottom, scale = scales.room
    for tick, y in zip(scales.up.ticks, scales.y(_values(scales.up)), strict=True):
        yield _line([(left, y), (right, y)], FAINT, scale)
        yield Words(left - 10 * scale, y + 7 * scale, tick.text, _TEXT * scale, "end")
    across = left + scales.along.share(_values(scales.along)) * scales.room.wide
    for tick, x in zip(scales.along.ticks, across, strict=True):
        yield _line([(x, bottom), (x, bottom + 7 * scale)], INK, 1.5 * scale)
        yield Words(x, bottom + 29 * scale, tick.text, _TEXT * scale, "middle")
    yield _line([(left, top), (left, bottom), (right, bottom)], INK, 1.5 * scale)
    yield Words((left + right) / 2, bottom + 58 * scale, scales.along.title, _TEXT * scale, "middle")
    if label:
        shown = shortened(label, max(int((bottom - top) / (_TEXT * _LETTER * scale)), 8))
        yield Words(28 * scale, (top + bottom) / 2, shown, _TEXT * scale, "middle", upwards=True)


def _values(axis: Axis) -> Floats:
    return np.array([tick.value for tick in axis.ticks])


def _line(points: Sequence[tuple[float, float]], colour: str, width: float) -> Line:
    return Line(np.array(points, np.float64), colour, width)


def _curve(one: PlotSeries, spans: Spans, scales: _Scales, number: int) -> Iterator[Line | Area]:
    """The area and the line of a curve, in as many pieces as missing values leave."""
    if not len(one.rows):
        return
    scale = scales.room.scale
    colour, dash = _looks(number, scale)
    ends = np.append(spans.starts[1:], len(one.rows)) - 1
    x = scales.x((one.rows[spans.starts] + one.rows[ends]) / 2)
    top, bottom, middle = scales.y(spans.high), scales.y(spans.low), scales.y(spans.mean)
    for start, stop in _runs(np.isfinite(spans.mean)):
        piece = slice(start, stop)
        if spans.frames > 1:
            yield Area(x[piece], top[piece], bottom[piece], colour, _BAND)
        points = np.column_stack((x[piece], middle[piece]))
        alone = stop - start == 1  # a dot should be seen
        yield Line(points, colour, (7 if alone else 2.4) * scale, () if alone else dash)


def _looks(number: int, scale: float) -> tuple[str, tuple[float, ...]]:
    """The colour and the dashes of a curve; those beyond the table get another combination."""
    again, place = divmod(number, len(COLOURS))
    dash = DASHES[(place + again) % len(DASHES)]
    return COLOURS[place], tuple(length * scale for length in dash)


def _runs(there: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where runs of true values start and stop."""
    edges = np.flatnonzero(np.diff(there.astype(np.int8), prepend=0, append=0))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _key(names: Sequence[str], top: float, width: int, scale: float) -> tuple[list[Line | Words], int]:
    """The names of the curves beside pieces of them, in rows, and how many rows."""
    parts: list[Line | Words] = []
    x, row, behind = 24.0, 0, 24.0
    for number, name in enumerate(names):
        wide = 62 + len(name) * _TEXT * _LETTER + 24
        if x > 24 and (x + wide) * scale > width:
            x, row, behind = 24.0, row + 1, x
        more = f"and {len(names) - number} more"
        last = row == _KEY_ROWS - 1 and number + 1 < len(names)
        if row == _KEY_ROWS or (last and (x + wide + _MORE) * scale > width):
            x, row = (x, row) if row < _KEY_ROWS else (behind, row - 1)
            parts.append(Words(x * scale, top + (row * _ROW + 20) * scale, more, _TEXT * scale))
            break
        y = top + (row * _ROW + 14) * scale
        colour, dash = _looks(number, scale)
        points = np.array([(x * scale, y), ((x + 52) * scale, y)])
        parts.append(Line(points, colour, 3 * scale, dash))
        parts.append(Words((x + 62) * scale, y + 7 * scale, name, _TEXT * scale))
        x += wide
    return parts, row + 1 if parts else 0


def _description(
    series: Sequence[PlotSeries], label: str, limits: tuple[float, float] | None, said: str
) -> str:
    names = ", ".join(shortened(note(one.name), _NAME) for one in series[:8] if one.name)
    of = f" of {names}" if names else ""
    about = f": {said}" if limits is None else ", from {:.2f} to {:.2f}".format(*limits)
    return f"{label}{of} over time{about}"
