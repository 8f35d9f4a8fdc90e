"""ContactSheet: all frames in one picture, as reference, distorted and heat map side by side, with captions.

It is at most 4000 pixels wide and high. Many frames stand in two or more blocks beside each other, whichever
makes the pictures largest.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.cells import Box
from acuity.frames.heat_map import Drawn, heat_colours
from acuity.report.plots.letters import LINE, fitting, width_of, wrapped, write

Image = NDArray[np.uint8]

MOST: Final = 4000  # pixels of the sheet, in each direction
_LARGEST: Final = 640  # pixels of the longer side of a picture in it
_SMALLEST: Final = 400  # smaller frames are enlarged, where there is room
_BLOCKS: Final = 4  # beside each other at most
_MARGIN: Final = 24
_GAP: Final = 8  # between the pictures of a frame
_TEXT: Final = 2  # pixels of a dot of the letters
_LARGE: Final = 3  # of those of the title
_CAPTION: Final = 3  # lines below a frame
_BELOW: Final = 20  # pixels below them
_COLUMNS: Final = ("reference", "distorted", "heat map")
_TICKS: Final = ((0.1, ".1"), (0.3, ".3"))  # on the scale of the heat map, by the square root as its colours
_WITH_TICKS: Final = 80  # pixels of a scale that has room for them
_BACKGROUND: Final = (22, 22, 24)
_BRIGHT: Final = (240, 240, 240)
_PLAIN: Final = (190, 190, 194)
_FAINT: Final = (140, 140, 146)
_SUBTITLE: Final = 2  # lines
_HEAD: Final = LINE * _LARGE + 6 + (_SUBTITLE + 1) * LINE * _TEXT + 16  # with the names of the columns


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
        return self.picture[1] + 6 + _CAPTION * LINE * _TEXT + _BELOW

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
        across, down = self._layout.size
        self.image: Image = np.full((down, across, 3), _BACKGROUND, np.uint8)
        room = across - 2 * _MARGIN
        write(self.image, _MARGIN, _MARGIN, fitting(title, room, _LARGE), _BRIGHT, _LARGE)
        y = _MARGIN + LINE * _LARGE + 6
        for number, line in enumerate(wrapped(subtitle, room, _TEXT, _SUBTITLE)):
            write(self.image, _MARGIN, y + number * LINE * _TEXT, line, _PLAIN, _TEXT)
        self._name_columns(y + _SUBTITLE * LINE * _TEXT + 10, count)

    def _name_columns(self, y: int, count: int) -> None:
        wide = self._layout.picture[0]
        for block in range(-(-count // self._layout.rows)):
            left = self._layout.corner(block * self._layout.rows)[0]
            for column, name in enumerate(_COLUMNS):
                x = left + column * (wide + _GAP)
                write(self.image, x, y, fitting(name, wide, _TEXT), _FAINT, _TEXT)
            self._draw_scale(x + width_of(f"{name} ", _TEXT), y, x + wide)

    def _draw_scale(self, left: int, y: int, right: int) -> None:
        """The colours of the heat map from no loss to all, at the right if there is room."""
        words, end = "loss 0 ", " 1"
        length = min(right - left - width_of(words, _TEXT) - width_of(end, _TEXT) - 8 * _TEXT, 128)
        if length < 32:
            return
        x = right - width_of(end, _TEXT) - length
        write(self.image, x - width_of(words, _TEXT) - _TEXT, y, words, _FAINT, _TEXT)
        colours = heat_colours()[np.linspace(0, 255, length).round().astype(np.intp)]
        self.image[y : y + 7 * _TEXT, x : x + length] = colours
        write(self.image, x + length, y, end, _FAINT, _TEXT)
        if length >= _WITH_TICKS:  # they show that the scale isn't even
            for loss, label in _TICKS:
                at = x + round(loss**0.5 * (length - 1))
                self.image[y : y + 7 * _TEXT, at] = 255
                write(self.image, at + 3, y + (7 * _TEXT - 7) // 2, label, _BRIGHT, 1)

    def place(self, rank: int, drawn: Drawn, mark: Box | None = None) -> None:
        """Put the pictures of a frame on the sheet; `mark` is outlined in them."""
        x, y = self._layout.corner(rank)
        wide, high = self._layout.picture
        for column, picture in enumerate((drawn.reference, drawn.distorted, drawn.heat)):
            left = x + column * (wide + _GAP)
            place = self.image[y : y + high, left : left + wide]
            place[:] = resized(picture, wide, high)
            if mark is not None:
                _outline(place, mark, picture.shape[1], picture.shape[0])

    def caption(self, rank: int, first: str, text: str) -> None:
        """Write below a frame's pictures: a line, and a text that may go on for two."""
        x, y = self._layout.corner(rank)
        room, y = self._layout.block_width, y + self._layout.picture[1] + 6
        write(self.image, x, y, fitting(first, room, _TEXT), _BRIGHT, _TEXT)
        for number, line in enumerate(wrapped(text, room, _TEXT, _CAPTION - 1), 1):
            write(self.image, x, y + number * LINE * _TEXT, line, _PLAIN, _TEXT)


def _outline(image: Image, box: Box, width: int, height: int) -> None:
    """Draw the edges of a box, given in the pixels of a picture of that size."""
    high, wide = image.shape[:2]
    left, right = (round(x * wide / width) for x in (box.x, box.x + box.width))
    top, bottom = (round(y * high / height) for y in (box.y, box.y + box.height))
    for inset, colour in ((0, 0), (1, 255)):  # a dark line and a bright one, to be seen on both
        x0, x1, y0, y1 = left + inset, right - 1 - inset, top + inset, bottom - 1 - inset
        if x0 < x1 and y0 < y1:
            image[y0, x0 : x1 + 1] = image[y1, x0 : x1 + 1] = colour
            image[y0 : y1 + 1, x0] = image[y0 : y1 + 1, x1] = colour


def resized(image: Image, width: int, height: int) -> Image:
    """The picture at another size: smaller by the mean of each pixel's area, larger by repeating pixels."""
    if height >= image.shape[0] and width >= image.shape[1]:
        return image.repeat(height // image.shape[0], 0).repeat(width // image.shape[1], 1)
    rows = _means(image, height)
    return np.rint(_means(rows.transpose(1, 0, 2), width).transpose(1, 0, 2)).astype(np.uint8)


def _means(image: NDArray[np.uint8] | NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """So many rows, each the mean of its share of the image's rows."""
    edges = np.arange(count + 1) * (len(image) / count)
    found = np.empty((count, *image.shape[1:]), np.float32)
    for row in range(count):
        start, stop = edges[row], edges[row + 1]
        first, last = int(start), min(int(np.ceil(stop - 1e-9)), len(image))
        places = np.arange(first, last)
        shares = np.minimum(places + 1, stop) - np.maximum(places, start)
        # Not with tensordot, which may start a thread for every core.
        found[row] = np.einsum("i,i...", (shares / shares.sum()).astype(np.float32), image[first:last])
    return found
