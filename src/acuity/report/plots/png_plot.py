"""Plots scores over time as PNG, for messages and terminals, and for papers that take no SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from acuity.png import rgb_png
from acuity.report.plots.axes import PlotSeries
from acuity.report.plots.figure import PAPER, Area, Line, Look, Words, figure
from acuity.report.plots.letters import soft_text

Floats = NDArray[np.float64]
Cover = NDArray[np.float32]

_ACROSS: Final = 4  # places of a pixel at which the edges of an area are looked at
_BLOCK: Final = 256  # columns of an area at once: bounds the scratch memory


class Raster:
    """A picture of one colour that shapes are drawn on."""

    def __init__(self, width: int, height: int, colour: str) -> None:
        self.image = np.empty((height, width, 3), np.float32)
        self.image[:] = _rgb(colour)

    def pixels(self) -> NDArray[np.uint8]:
        """The picture as (height, width, 3)."""
        return np.rint(self.image).astype(np.uint8)

    def line(self, part: Line) -> None:
        """Draw a line; where it crosses itself it isn't darker."""
        height, width, _ = self.image.shape
        reach = part.width / 2 + 2
        low, high = part.points.min(0) - reach, part.points.max(0) + reach
        left, top = max(int(low[0]), 0), max(int(low[1]), 0)
        right, bottom = min(math.ceil(high[0]), width), min(math.ceil(high[1]), height)
        if left >= right or top >= bottom:
            return
        cover = np.zeros((bottom - top, right - left), np.float32)
        for points in _dashes(part.points - (left, top), part.dash, part.width / 2):
            ends = points if len(points) > 1 else np.repeat(points, 2, 0)
            for (x0, y0), (x1, y1) in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                _segment(cover, x0, y0, x1, y1, part.width / 2)
        self._blend(cover, part.colour, 1.0, left, top)

    def area(self, part: Area) -> None:
        """Draw what is between two lines; it is a pixel high at least, so that it is always seen."""
        height, width, _ = self.image.shape
        left, right = max(int(part.x[0]), 0), min(int(part.x[-1]) + 1, width)
        middle = (part.top + part.bottom) / 2
        top = np.minimum(part.top, middle - 0.5)
        bottom = np.maximum(part.bottom, middle + 0.5)
        rows = np.arange(height)[:, None]
        for start in range(left, right, _BLOCK):
            stop = min(start + _BLOCK, right)
            x = start + (np.arange((stop - start) * _ACROSS) + 0.5) / _ACROSS
            above, below = np.interp(x, part.x, top), np.interp(x, part.x, bottom)
            inside = (x >= part.x[0]) & (x <= part.x[-1])
            covered = np.clip(np.minimum(rows + 1, below) - np.maximum(rows, above), 0, 1) * inside
            cover = covered.reshape(height, -1, _ACROSS).mean(2).astype(np.float32)
            self._blend(cover, part.colour, part.opacity, start)

    def words(self, part: Words) -> None:
        """Draw a text."""
        cover, baseline = soft_text(part.text, part.size, bold=part.bold)
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[part.anchor] * cover.shape[1]
        if part.upwards:
            x, y = round(part.x) - baseline, round(part.y + shift) - cover.shape[1]
            cover = np.ascontiguousarray(cover.T[::-1])
        else:
            x, y = round(part.x - shift), round(part.y) - baseline
        height, width, _ = self.image.shape
        kept = cover[max(-y, 0) : max(height - y, 0), max(-x, 0) : max(width - x, 0)]
        self._blend(kept, part.colour, 1.0, max(x, 0), max(y, 0))

    def _blend(self, cover: Cover, colour: str, opacity: float, x: int = 0, y: int = 0) -> None:
        place = self.image[y : y + cover.shape[0], x : x + cover.shape[1]]
        place += (_rgb(colour) - place) * (cover * np.float32(opacity))[..., None]


def _rgb(colour: str) -> NDArray[np.float32]:
    """#rrggbb as three numbers."""
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], np.float32)


def _segment(cover: Cover, x0: float, y0: float, x1: float, y1: float, radius: float) -> None:
    """Cover the pixels that are nearer than the radius to a segment with round ends."""
    height, width = cover.shape
    reach = radius + 1
    left, right = max(int(min(x0, x1) - reach), 0), min(int(max(x0, x1) + reach) + 1, width)
    top, bottom = max(int(min(y0, y1) - reach), 0), min(int(max(y0, y1) + reach) + 1, height)
    if left >= right or top >= bottom:
        return
    x, y = np.arange(left, right) + 0.5 - x0, np.arange(top, bottom)[:, None] + 0.5 - y0
    dx, dy = x1 - x0, y1 - y0
    length = dx * dx + dy * dy
    along = np.clip((x * dx + y * dy) / length, 0, 1) if length else 0.0
    distance = np.hypot(x - along * dx, y - along * dy)
    place = cover[top:bottom, left:right]
    np.maximum(place, np.clip(radius + 0.5 - distance, 0, 1), out=place, casting="same_kind")


def _dashes(points: Floats, dash: Sequence[float], radius: float) -> Iterator[Floats]:
    """The pieces of a line that are drawn: all of it, or its dashes, without their round ends."""
    if not dash or len(points) < 2:
        yield points
        return
    steps = np.hypot(*np.diff(points, axis=0).T)
    along = np.concatenate(([0.0], np.cumsum(steps)))
    marks = np.cumsum([0.0, *dash])
    for again in range(math.ceil(along[-1] / marks[-1])):
        for start, stop in zip(marks[:-1:2], marks[1::2], strict=True):
            cap = min(radius, (stop - start) / 2 - 0.01)
            begin, end = again * marks[-1] + start + cap, min(again * marks[-1] + stop - cap, along[-1])
            if begin >= end:
                return
            inner = along[(along > begin) & (along < end)]
            places = np.concatenate(([begin], inner, [end]))
            yield np.column_stack([np.interp(places, along, points[:, axis]) for axis in (0, 1)])


def png_plot(series: Sequence[PlotSeries], **look: Unpack[Look]) -> bytes:
    """The plot as a PNG file; letters are as large as the plot allows."""
    return rgb_png(plot_pixels(series, **look))


def plot_pixels(series: Sequence[PlotSeries], **look: Unpack[Look]) -> NDArray[np.uint8]:
    """The plot as (height, width, 3) in sRGB."""
    drawn = figure(series, **look)
    raster = Raster(drawn.width, drawn.height, PAPER)
    draw: dict[type, Callable[[Any], None]] = {Line: raster.line, Area: raster.area, Words: raster.words}
    for part in drawn.parts:
        draw[type(part)](part)
    return raster.pixels()
