"""ContactSheet: all frames in one picture, as reference, distorted and heat map side by side, with captions.

It is at most 4000 pixels wide and high. Many frames stand in two or more blocks beside each other, whichever
makes the pictures largest.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from acuity.frames.artefacts.cells import Box
from acuity.frames.colours import Rgb8
from acuity.frames.heat_map import Drawn, heat_colours
from acuity.report.plots.png_plot import fitting, font, wrapped

MOST: Final = 4000  # pixels of the sheet, in each direction
_LARGEST: Final = 640  # pixels of the longer side of a picture in it
_SMALLEST: Final = 400  # smaller frames are enlarged, where there is room
_BLOCKS: Final = 4  # beside each other at most
_MARGIN: Final = 24
_GAP: Final = 8  # between the pictures of a frame
_TEXT: Final = 20  # the size of letters
_LINE: Final = 24  # pixels from a line to the next
_TITLE: Final = 30
_TICK: Final = 11
_CAPTION: Final = 3  # lines below a frame
_BELOW: Final = 20  # pixels below them
_COLUMNS: Final = ("reference", "distorted", "heat map")
_TICKS: Final = ((0.1, ".1"), (0.3, ".3"))  # on the scale of the heat map, by the square root as its colours
_WITH_TICKS: Final = 80  # pixels of a scale that has room for them
_BACKGROUND: Final = "#161618"
_BRIGHT: Final = "#f0f0f0"
_PLAIN: Final = "#bebec2"
_FAINT: Final = "#8c8c92"
_SUBTITLE: Final = 2  # lines
_HEAD: Final = _TITLE + 12 + (_SUBTITLE + 1) * _LINE + 16  # with the names of the columns


class Layout(NamedTuple):
    """Where the pictures of a sheet are."""

    picture: tuple[int, int]  # width and height of each
    blocks: int
    rows: int  # in a block

    @property
    def block_width(self) -> int:
        return 3 * self.picture[0] + 2 * _GAP

    @property
    def row_height(self) -> int:
        return self.picture[1] + 6 + _CAPTION * _LINE + _BELOW

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the sheet."""
        width = _MARGIN + self.blocks * (self.block_width + _MARGIN)
        return width, 2 * _MARGIN + _HEAD + self.rows * self.row_height

    def corner(self, rank: int) -> tuple[int, int]:
        """The top left corner of a frame's row."""
        block, row = divmod(rank, self.rows)
        x = _MARGIN + block * (self.block_width + _MARGIN)
        return x, _MARGIN + _HEAD + row * self.row_height


def layout(count: int, width: int, height: int) -> Layout:
    """The layout with the largest pictures for so many frames of that size."""
    best: Layout | None = None
    for blocks in range(1, min(_BLOCKS, count) + 1):
        rows = -(-count // blocks)
        for longer in range(_LARGEST, 0, -8):
            found = Layout(_shown_size(width, height, longer), blocks, rows)
            if max(found.size) <= MOST:
                if best is None or found.picture > best.picture:
                    best = found
                break
    assert best is not None  # pictures of 8 pixels fit
    return best


def _shown_size(width: int, height: int, longer: int) -> tuple[int, int]:
    """The size of a picture whose longer side is at most that; small ones grow by a whole factor."""
    side = max(width, height)
    if side <= longer:
        factor = max(min(longer // side, -(-_SMALLEST // side)), 1)
        return width * factor, height * factor
    return max(round(width * longer / side), 1), max(round(height * longer / side), 1)


class ContactSheet:
    """A sheet that frames are put on in any order; a frame's rank is its row, the worst at the top."""

    def __init__(self, count: int, width: int, height: int, title: str, subtitle: str) -> None:
        self._layout = layout(count, width, height)
        self._sheet = Image.new("RGB", self._layout.size, _BACKGROUND)
        self._draw = ImageDraw.Draw(self._sheet)
        room = self._layout.size[0] - 2 * _MARGIN
        self._write(_MARGIN, _MARGIN, fitting(title, room, _TITLE), _BRIGHT, _TITLE)
        y = _MARGIN + _TITLE + 12
        for number, line in enumerate(wrapped(subtitle, room, _TEXT, _SUBTITLE)):
            self._write(_MARGIN, y + number * _LINE, line, _PLAIN)
        self._name_columns(y + _SUBTITLE * _LINE + 10, count)

    @property
    def image(self) -> NDArray[np.uint8]:
        """The sheet as (height, width, 3)."""
        return np.asarray(self._sheet)

    def _write(self, x: float, y: float, text: str, colour: str, size: int = _TEXT) -> None:
        """A line of text whose capitals begin at `y`."""
        self._draw.text((x, y + 0.72 * size), text, colour, font(size), "ls")

    def _name_columns(self, y: int, count: int) -> None:
        wide = self._layout.picture[0]
        for block in range(-(-count // self._layout.rows)):
            left = self._layout.corner(block * self._layout.rows)[0]
            for column, name in enumerate(_COLUMNS):
                x = left + column * (wide + _GAP)
                self._write(x, y, fitting(name, wide, _TEXT), _FAINT)
            self._draw_scale(x + font(_TEXT).getlength(f"{name}  "), y, x + wide)

    def _draw_scale(self, left: float, y: int, right: int) -> None:
        """The colours of the heat map from no loss to all, at the right if there is room."""
        words, end = (font(_TEXT).getlength(text) for text in ("loss 0 ", " 1"))
        length = int(min(right - left - words - end - 16, 128))
        if length < 32:
            return
        x, high = int(right - end) - length, 14
        self._write(x - words, y, "loss 0 ", _FAINT)
        colours = Image.fromarray(heat_colours()[np.newaxis])
        self._sheet.paste(colours.resize((length, high)), (x, y))
        self._write(x + length, y, " 1", _FAINT)
        if length >= _WITH_TICKS:  # ticks show that the scale isn't even
            for loss, label in _TICKS:
                at = x + round(loss**0.5 * (length - 1))
                self._draw.line((at, y, at, y + high - 1), "white")
                self._write(at + 3, y + 3, label, _BRIGHT, _TICK)

    def place(self, rank: int, drawn: Drawn, mark: Box | None = None) -> None:
        """Put the pictures of a frame on the sheet; `mark` is outlined in them."""
        x, y = self._layout.corner(rank)
        wide, high = self._layout.picture
        for column, picture in enumerate((drawn.reference, drawn.distorted, drawn.heat)):
            shown = resized(picture, wide, high)
            if mark is not None:
                _outline(shown, mark, picture.shape[1], picture.shape[0])
            self._sheet.paste(shown, (x + column * (wide + _GAP), y))

    def caption(self, rank: int, first: str, text: str) -> None:
        """Write below a frame's pictures: a line, and a text that may go on for two."""
        x, y = self._layout.corner(rank)
        room, y = self._layout.block_width, y + self._layout.picture[1] + 9
        self._write(x, y, fitting(first, room, _TEXT), _BRIGHT)
        for number, line in enumerate(wrapped(text, room, _TEXT, _CAPTION - 1), 1):
            self._write(x, y + number * _LINE, line, _PLAIN)


def _outline(image: Image.Image, box: Box, width: int, height: int) -> None:
    """Draw the edges of a box, given in the pixels of a picture of that size."""
    left, right = (round(x * image.width / width) for x in (box.x, box.x + box.width))
    top, bottom = (round(y * image.height / height) for y in (box.y, box.y + box.height))
    for inset, colour in ((0, "black"), (1, "white")):  # to be seen on dark and on bright pictures
        x0, x1, y0, y1 = left + inset, right - 1 - inset, top + inset, bottom - 1 - inset
        if x0 < x1 and y0 < y1:
            ImageDraw.Draw(image).rectangle((x0, y0, x1, y1), outline=colour)


def resized(image: Rgb8, width: int, height: int) -> Image.Image:
    """The picture at another size: smaller by the mean of each pixel's area, larger by repeating pixels."""
    return Image.fromarray(image).resize((width, height), Image.Resampling.BOX)
