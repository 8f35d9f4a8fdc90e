"""Plots scores over time as PNG, for messages, terminals and papers that take no SVG.

The letters are those of the font that comes with Pillow, which has the characters of ASCII.
"""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Unpack, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from acuity.png import rgb_png
from acuity.report.plots.axes import Floats, PlotSeries
from acuity.report.plots.figure import PAPER, Area, Line, PlotStyle, Words, figure

_FINER: Final = 4  # shapes are drawn so many times as large, and made smaller: their edges are soft then


_UNKNOWN: Final = "?"


@lru_cache(maxsize=64)
def font(size: float) -> ImageFont.FreeTypeFont:
    """The font; `size` is the height of a line as in CSS, so that capitals are about 0.7 of it high."""
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(size))


def plain_letters(text: str) -> str:
    """The text with the letters that there are: without accents, and question marks for other ones."""
    parts = unicodedata.normalize("NFKD", text)
    kept = (char for char in parts if not unicodedata.combining(char))
    return "".join(char if " " <= char <= "~" else _UNKNOWN for char in kept)


def fitting(text: str, width: float, size: float) -> str:
    """The text, or its start and its end with dots between, so that it is no wider than so many pixels."""
    text, length = plain_letters(text), font(size).getlength
    if length(text) <= width:
        return text

    def cut(kept: int) -> str:
        start = kept * 2 // 3
        return f"{text[:start]}..{text[len(text) - kept + start :]}"

    kept = bisect_right(range(len(text)), width, key=lambda kept: length(cut(kept))) - 1
    return cut(kept) if kept >= 0 else ""


def wrapped(text: str, width: float, size: float, lines: int) -> list[str]:
    """The text in at most so many lines of that width in pixels; dots say that some of it is missing."""
    found: list[str] = []
    for word in plain_letters(text).split():
        if found and font(size).getlength(f"{found[-1]} {word}") <= width:
            found[-1] += f" {word}"
        else:
            found.append(fitting(word, width, size))
    if len(found) > lines:
        found[lines - 1 :] = [fitting(" ".join(found[lines - 1 :]), width, size)]
    return found


class Raster:
    """A picture of one colour that shapes are drawn on."""

    def __init__(self, width: int, height: int, colour: str) -> None:
        self.image = Image.new("RGB", (width, height), colour)

    def pixels(self) -> NDArray[np.uint8]:
        return np.array(self.image)

    def line(self, part: Line) -> None:
        """Draw a line; where it crosses itself it isn't darker."""
        radius = part.width / 2
        rounded = not part.dash and len(part.points) != 2

        def draw(canvas: ImageDraw.ImageDraw, place: Callable[[Floats], list[tuple[float, float]]]) -> None:
            for points in _dashes(part.points, part.dash):
                canvas.line(place(points), 255, round(part.width * _FINER), "curve")
                for x, y in place(points[[0, -1]]) if rounded else ():
                    canvas.circle((x, y), radius * _FINER, 255)

        self._cover(draw, part.points, radius + 2, part.colour, 1.0)

    def area(self, part: Area) -> None:
        """Draw what is between two lines; it is a pixel high at least, so that it is always seen."""
        middle = (part.top + part.bottom) / 2
        # Pillow also draws the places of the edges.
        top = np.column_stack((part.x, np.minimum(part.top, middle - 0.5)))
        bottom = np.column_stack((part.x, np.maximum(part.bottom, middle + 0.5) - 1 / _FINER))
        corners = np.concatenate((top, bottom[::-1]))
        self._cover(lambda canvas, place: canvas.polygon(place(corners), 255), corners, 1, *part[3:])

    def words(self, part: Words) -> None:
        text, face = plain_letters(part.text), font(part.size)
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[part.anchor]
        stroke = part.size / 50 if part.bold else 0.0
        if not part.upwards:
            draw = ImageDraw.Draw(self.image)
            draw.text((part.x, part.y), text, part.colour, face, anchor, stroke_width=stroke)
            return
        # Anchored at the middle of a square, which is turned about it.
        half = math.ceil(max(face.getlength(text), part.size)) + 1
        cover = Image.new("L", (2 * half, 2 * half))
        ImageDraw.Draw(cover).text((half, half), text, 255, face, anchor, stroke_width=stroke)
        turned = cover.transpose(Image.Transpose.ROTATE_90)
        self.image.paste(part.colour, (round(part.x) - half, round(part.y) - half), turned)

    def _cover(
        self,
        draw: Callable[[ImageDraw.ImageDraw, Callable[[Floats], list[tuple[float, float]]]], None],
        points: Floats,
        reach: float,
        colour: str,
        opacity: float,
    ) -> None:
        """Paint a shape that is drawn in white on a canvas of its own, `reach` around its points."""
        ends = np.clip((points.min(0) - reach, points.max(0) + reach + 1), 0, self.image.size)
        (left, top), (right, bottom) = ends.astype(int).tolist()
        if left >= right or top >= bottom:
            return
        canvas = Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))

        def place(found: Floats) -> list[tuple[float, float]]:
            return [(x, y) for x, y in ((found - (left, top)) * _FINER - 0.5).tolist()]

        draw(ImageDraw.Draw(canvas), place)
        self.image.paste(colour, (left, top), canvas.reduce(_FINER).point(lambda value: value * opacity))


def _dashes(points: Floats, dash: Sequence[float]) -> Iterator[Floats]:
    """The pieces of a line that are drawn: all of it, or its dashes."""
    if not dash or len(points) < 2:
        yield points
        return
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))))
    marks = np.cumsum([0.0, *dash])
    for again in range(math.ceil(along[-1] / marks[-1])):
        for begin, end in (again * marks[-1] + marks[:-1].reshape(-1, 2)).tolist():
            end = min(end, along[-1])
            if begin < end:
                places = np.concatenate(([begin], along[(along > begin) & (along < end)], [end]))
                yield np.column_stack([np.interp(places, along, points[:, axis]) for axis in (0, 1)])


def png_plot(series: Sequence[PlotSeries], **look: Unpack[PlotStyle]) -> bytes:
    """The plot as a PNG file; letters are as large as the plot allows."""
    return rgb_png(plot_pixels(series, **look))


def plot_pixels(series: Sequence[PlotSeries], **look: Unpack[PlotStyle]) -> NDArray[np.uint8]:
    """The plot as (height, width, 3) in sRGB."""
    drawn = figure(series, **look)
    raster = Raster(drawn.width, drawn.height, PAPER)
    draw: dict[type, Callable[[Any], None]] = {Line: raster.line, Area: raster.area, Words: raster.words}
    for part in drawn.parts:
        draw[type(part)](part)
    return raster.pixels()
