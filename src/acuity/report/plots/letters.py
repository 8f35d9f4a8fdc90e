"""Letters for pictures: a font of our own of 5x7 dots and two rows below the line.

The dots are joined by strokes with soft edges.
"""

from __future__ import annotations

import math
import unicodedata
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_FIRST: Final = 32  # the code of the first character: space; the last is the tilde
_UNKNOWN: Final = "?"
ADVANCE: Final = 6  # columns from a character to the next
LINE: Final = 12  # rows from a line to the next
_COLUMNS: Final = 5
_ROWS: Final = 9
_BASELINE: Final = 7  # rows above the line
# Of letters with soft edges, in parts of a line's height or of the distance of two dots.
_CAPITAL: Final = 0.7
_STROKE: Final = 0.95
_BOLD: Final = 1.3
_NARROW: Final = 0.82

# Bands of 16 characters in the order of their codes.
_DRAWN: Final = """
..... ..#.. .#.#. .#.#. ..#.. ##... .##.. ..#.. ...#. .#... ..... ..... ..... ..... ..... ....#
..... ..#.. .#.#. .#.#. .#### ##..# #..#. ..#.. ..#.. ..#.. ..#.. ..#.. ..... ..... ..... ....#
..... ..#.. .#.#. ##### #.#.. ...#. #.#.. ..#.. .#... ...#. #.#.# ..#.. ..... ..... ..... ...#.
..... ..#.. ..... .#.#. .###. ..#.. .#... ..... .#... ...#. .###. ##### ..... ##### ..... ..#..
..... ..#.. ..... ##### ..#.# .#... #.#.# ..... .#... ...#. #.#.# ..#.. ..... ..... ..... .#...
..... ..... ..... .#.#. ####. #..## #..#. ..... ..#.. ..#.. ..#.. ..#.. .##.. ..... .##.. #....
..... ..#.. ..... .#.#. ..#.. ...## .##.# ..... ...#. .#... ..... ..... .##.. ..... .##.. #....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .#... ..... ..... .....

.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###. ..... ..... ...#. ..... .#... .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...# .##.. .##.. ..#.. ..... ..#.. #...#
#..## #.#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...# .##.. .##.. .#... ##### ...#. ....#
#.#.# ..#.. ..##. ...#. #..#. ....# ####. ..#.. .###. .#### ..... ..... #.... ..... ....# ...#.
##..# ..#.. .#... ....# ##### ....# #...# ..#.. #...# ....# ..... ..... .#... ##### ...#. ..#..
#...# ..#.. #.... #...# ...#. #...# #...# .#... #...# ...#. .##.. .##.. ..#.. ..... ..#.. .....
.###. ##### ##### .###. ...#. .###. .###. .#... .###. .##.. .##.. .##.. ...#. ..... .#... ..#..
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .#... ..... ..... ..... .....

.###. ..#.. ####. .###. ###.. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###.
#...# .#.#. #...# #...# #..#. #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...#
#.### #...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...#
#.#.# #...# ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #.#.# #...#
#.### ##### #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #..## #...#
#.... #...# #...# #...# #..#. #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #..## #...#
.#### #...# ####. .###. ###.. ##### #.... .#### #...# .###. .##.. #...# ##### #...# #...# .###.
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

####. .###. ####. .#### ##### #...# #...# #...# #...# #...# ##### .###. #.... .###. ..#.. .....
#...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# .#... #.... ...#. .#.#. .....
#...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. .#... .#... ...#. #...# .....
####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. .#... ..#.. ...#. ..... .....
#.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#... .#... ...#. ...#. ..... .....
#.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... .#... ....# ...#. ..... .....
#.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### .###. ....# .###. ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... #####
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

.#... ..... #.... ..... ....# ..... ..##. ..... #.... ..#.. ...#. #.... .##.. ..... ..... .....
..#.. ..... #.... ..... ....# ..... .#... ..... #.... ..... ..... #.... ..#.. ..... ..... .....
...#. .###. ####. .#### .#### .###. ####. .#### ####. .##.. ..##. #..#. ..#.. ##.#. ####. .###.
..... ....# #...# #.... #...# #...# .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
..... .#### #...# #.... #...# ##### .#... #...# #...# ..#.. ...#. ##... ..#.. #.#.# #...# #...#
..... #...# #...# #.... #...# #.... .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
..... .#### ####. .#### .#### .###. .#... .#### #...# .###. ...#. #..#. ..##. #.#.# #...# .###.
..... ..... ..... ..... ..... ..... ..... ....# ..... ..... #..#. ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... .###. ..... ..... .##.. ..... ..... ..... ..... .....

..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ...## ..#.. ##... .....
..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ..#.. ..#.. ..#.. .....
####. .#### #.##. .#### ####. #...# #...# #...# #...# #...# ##### ..#.. ..#.. ..#.. .#...
#...# #...# ##..# #.... .#... #...# #...# #...# .#.#. #...# ...#. .#... ..#.. ...#. #.#.#
#...# #...# #.... .###. .#... #...# #...# #.#.# ..#.. #...# ..#.. ..#.. ..#.. ..#.. ...#.
#...# #...# #.... ....# .#... #...# .#.#. #.#.# .#.#. #...# .#... ..#.. ..#.. ..#.. .....
####. .#### #.... ####. ..##. .#### ..#.. .#.#. #...# .#### ##### ...## ..#.. ##... .....
#.... ....# ..... ..... ..... ..... ..... ..... ..... ....# ..... ..... ..#.. ..... .....
#.... ....# ..... ..... ..... ..... ..... ..... ..... .###. ..... ..... ..#.. ..... .....
"""


@cache
def _font() -> NDArray[np.bool_]:
    """The characters as (95, rows, columns)."""
    found = []
    for band in _DRAWN.strip("\n").split("\n\n"):
        dots = np.array([[dot == "#" for dot in f"{line} "] for line in band.splitlines()])
        found += np.split(dots, dots.shape[1] // ADVANCE, axis=1)
    return np.stack(found)[:, :, :_COLUMNS]


def width_of(text: str, scale: int) -> int:
    """The pixels that a line of text is wide."""
    return max(len(text) * ADVANCE - 1, 0) * scale


def fitting(text: str, width: int, scale: int) -> str:
    """The text, or its start and its end with dots between, so that it is no wider than so many pixels."""
    most = max((width + scale) // (ADVANCE * scale), 0)
    if len(text) <= most:
        return text
    if most <= 3:
        return "." * most
    start = (most - 2) * 2 // 3
    return f"{text[:start]}..{text[len(text) - (most - 2 - start) :]}"


def wrapped(text: str, width: int, scale: int, lines: int) -> list[str]:
    """The text in at most so many lines of that width in pixels; dots say that some of it is missing."""
    most = max((width + scale) // (ADVANCE * scale), 1)
    found: list[str] = []
    for word in text.split():
        if found and len(found[-1]) + 1 + len(word) <= most:
            found[-1] += f" {word}"
        else:
            found.append(fitting(word, width, scale))
    if len(found) > lines:
        found = [*found[: lines - 1], fitting(f"{found[lines - 1][: most - 3]}...", width, scale)]
    return found


def write(
    canvas: NDArray[np.uint8],
    x: int,
    y: int,
    text: str,
    colour: tuple[int, int, int],
    scale: int = 1,
) -> None:
    """Draw a line of text with its top left corner there; what is outside the canvas is left out."""
    stroke = _Stroke(scale, scale, scale * _STROKE / 2, scale / 2)
    cover = _line(text, stroke)[stroke.margin :, stroke.margin :]
    place = canvas[y : y + cover.shape[0], x : x + cover.shape[1]]
    part = cover[: place.shape[0], : place.shape[1], None]
    place[:] = np.rint(place + (np.array(colour, np.float32) - place) * part)


def soft_text(text: str, size: float, *, bold: bool = False) -> tuple[NDArray[np.float32], int]:
    """A line of text: how much of each pixel it covers, and the row of its baseline.

    `size` is the height of a line as in CSS, so that capitals are about 0.7 of it high.
    """
    dot = size * _CAPITAL / (_BASELINE - 1)
    stroke = _Stroke(dot, dot * _NARROW, dot * (_BOLD if bold else _STROKE) / 2)
    return _line(text, stroke), stroke.margin + round((_BASELINE - 1) * dot)


class _Stroke(NamedTuple):
    """How letters are drawn, in pixels."""

    down: float  # from a dot to the next
    across: float
    radius: float
    inset: float = 0.0  # of the first dot's middle

    @property
    def margin(self) -> int:
        return math.ceil(self.radius + 1)


def _line(text: str, stroke: _Stroke) -> NDArray[np.float32]:
    """How much of each pixel a line of text covers; there is a margin around it."""
    letters = [_soft_letter(ord(char) - _FIRST, stroke) for char in plain_letters(text)]
    height, width = _soft_letter(0, stroke).shape
    lefts = [round(number * ADVANCE * stroke.across) for number in range(len(letters))]
    cover = np.zeros((height, width + (lefts[-1] if lefts else 0)), np.float32)
    for left, letter in zip(lefts, letters, strict=True):
        place = cover[:, left : left + width]
        np.maximum(place, letter, out=place)
    return cover


@lru_cache(maxsize=1024)
def _soft_letter(code: int, stroke: _Stroke) -> NDArray[np.float32]:
    """How much of each pixel a character covers: its dots are joined by strokes with soft edges."""
    down, across, radius, inset = stroke
    spans = (_ROWS - 1) * down, (_COLUMNS - 1) * across
    size = [math.ceil(span + 2 * inset) + 2 * stroke.margin for span in spans]
    cover = np.zeros(size, np.float32)
    y, x = (np.arange(length) + 0.5 - stroke.margin - inset for length in size)
    for x0, y0, x1, y1 in _strokes(code):
        u, v = x - x0 * across, y[:, None] - y0 * down
        dx, dy = (x1 - x0) * across, (y1 - y0) * down
        along = np.clip((u * dx + v * dy) / (dx * dx + dy * dy), 0, 1) if dx or dy else 0.0
        distance = np.hypot(u - along * dx, v - along * dy)
        np.maximum(cover, np.clip(radius + 0.5 - distance, 0, 1), out=cover, casting="same_kind")
    return cover


def plain_letters(text: str) -> str:
    """The text with the letters that there are: without accents, and question marks for other ones."""
    parts = unicodedata.normalize("NFKD", text)
    kept = (char for char in parts if not unicodedata.combining(char))
    return "".join(char if " " <= char <= "~" else _UNKNOWN for char in kept)


@cache
def _strokes(code: int) -> list[tuple[int, int, int, int]]:
    """The strokes of a character between its dots: aslant only where no third dot joins the two."""
    dots = np.zeros((_ROWS + 1, _COLUMNS + 2), bool)
    dots[:_ROWS, 1:-1] = _font()[code]
    found, joined = [], set()
    for y, x in zip(*map(np.ndarray.tolist, np.nonzero(dots)), strict=True):
        for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
            aslant = dy and dx and (dots[y, x + dx] or dots[y + dy, x])
            if dots[y + dy, x + dx] and not aslant:
                found.append((x - 1, y, x - 1 + dx, y + dy))
                joined |= {(y, x), (y + dy, x + dx)}
        if (y, x) not in joined:
            found.append((x - 1, y, x - 1, y))
    return found
