"""Boxes in a picture, the cells that it is measured in, and where a map of cells has most of its sum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

WHOLE: Final = "whole picture"
_EVEN: Final = 0.6  # share of cells with half of the peak from which damage counts as everywhere
_KEPT: Final = 0.8  # share of the damage that a box keeps
_LONG: Final = 0.75  # of a side of the picture: a box as long isn't in a corner


class Box(NamedTuple):
    """A rectangle of luma samples."""

    x: int
    y: int
    width: int
    height: int

    def to_document(self) -> dict[str, int]:
        return self._asdict()

    def meets(self, other: Box) -> bool:
        """Whether they share half of the smaller one, or more."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        smaller = min(self.width * self.height, other.width * other.height)
        return 2 * max(wide, 0) * max(high, 0) >= smaller

    def words(self, width: int, height: int) -> str:
        """The box's place in a picture of that size, in words."""
        right, bottom = self.x + self.width, self.y + self.height
        return _words(self.x / width, right / width, self.y / height, bottom / height)


class CellBox(NamedTuple):
    """A box of cells, and where it is in words."""

    left: int
    top: int
    right: int
    bottom: int
    words: str


def place_of(cells: NDArray[np.float32]) -> CellBox:
    """The box with most of a map's sum: the whole picture if the map is even."""
    rows, columns = cells.shape
    whole = CellBox(0, 0, columns, rows, WHOLE)
    total = float(cells.sum())
    peak = float(np.sort(cells, axis=None)[-max(1, cells.size // 20) :].mean())
    if total <= 0 or (cells >= 0.5 * peak).mean() >= _EVEN:
        return whole
    left, top, right, bottom = _shrunk(cells, _KEPT * total)
    words = _words(left / columns, right / columns, top / rows, bottom / rows)
    return CellBox(left, top, right, bottom, words) if words != WHOLE else whole


def _shrunk(cells: NDArray[np.float32], kept: float) -> tuple[int, int, int, int]:
    """The box left when the side with the smallest mean is cut off again and again."""
    left, top, right, bottom = 0, 0, cells.shape[1], cells.shape[0]
    while True:
        inner = cells[top:bottom, left:right]
        sides = {"left": inner[:, 0], "right": inner[:, -1], "top": inner[0], "bottom": inner[-1]}
        wide, high = right - left > 1, bottom - top > 1
        allowed = [name for name in sides if (wide if name in ("left", "right") else high)]
        if not allowed:
            break
        name = min(allowed, key=lambda side: float(sides[side].mean()))
        if float(inner.sum() - sides[name].sum()) < kept:
            break
        left, top = left + (name == "left"), top + (name == "top")
        right, bottom = right - (name == "right"), bottom - (name == "bottom")
    return left, top, right, bottom


def _words(left: float, right: float, top: float, bottom: float) -> str:
    """Words for a box whose sides are shares of the picture's."""
    wide, high = right - left >= _LONG, bottom - top >= _LONG
    if wide and high:
        return WHOLE
    across = _third((left + right) / 2, ("left", "", "right")) if not wide else ""
    down = _third((top + bottom) / 2, ("upper", "", "lower")) if not high else ""
    if across and down:
        return f"{down} {across}"
    if across:
        return f"{across} edge" if right - left < 0.2 else f"{across} side"
    if down:
        return {"upper": "top", "lower": "bottom"}[down]
    return "down the middle" if high else "across the middle" if wide else "centre"


def _third(middle: float, names: tuple[str, str, str]) -> str:
    return names[0] if middle < 0.4 else names[2] if middle > 0.6 else names[1]


TILE: Final = 8  # cells begin at multiples of it
_CELLS_ACROSS: Final = 40
_STRIP_ROWS: Final = 144

Plane = NDArray[np.float32]


class Rows(NamedTuple):
    """A strip: its rows of cells, and its rows of samples."""

    first_cell: int
    last_cell: int  # not in it
    start: int
    stop: int


class Grid:
    """Cells of whole tiles, the last ones longer by what is left over. Small pictures are one cell."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        side = max(2, round(max(width, height) / _CELLS_ACROSS / TILE)) * TILE
        self.columns, self.rows = ([*range(0, max(length - side, 0) + 1, side)] for length in (width, height))

    @property
    def small(self) -> bool:
        """Whether the picture is too small to be measured."""
        return min(self.width, self.height) < 2 * TILE

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def box(self, place: CellBox) -> Box:
        xs, ys = [*self.columns, self.width], [*self.rows, self.height]
        left, top, right, bottom = xs[place.left], ys[place.top], xs[place.right], ys[place.bottom]
        return Box(left, top, right - left, bottom - top)

    def strips(self) -> Iterator[Rows]:
        """Groups of rows of cells that fit in a processor's cache."""
        ends = [*self.rows[1:], self.height]
        first = 0
        while first < len(self.rows):
            last = first + 1
            while last < len(self.rows) and ends[last] - self.rows[first] <= _STRIP_ROWS:
                last += 1
            yield Rows(first, last, self.rows[first], ends[last - 1])
            first = last

    def means(self, plane: NDArray[np.generic], shift: tuple[int, int] = (0, 0)) -> Plane:
        """The means of a plane's cells; the shifts are those of chroma: columns, rows."""
        return cell_means(
            plane, [start >> shift[1] for start in self.rows], [start >> shift[0] for start in self.columns]
        )


def cell_means(plane: NDArray[np.generic], rows: list[int], columns: list[int]) -> Plane:
    """The means between starts of rows and columns."""
    height, width = plane.shape
    bounds = itertools.pairwise([*rows, height])
    # Sums over an axis are several times faster than reduceat over it.
    down = [plane[start:end].sum(axis=0, dtype=np.float32) for start, end in bounds]
    # float64, because cells can have many samples
    sums = np.add.reduceat(np.stack(down), columns, axis=1, dtype=np.float64)
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    return np.asarray(sums / counts, np.float32)


def smoothed(cells: Plane) -> Plane:
    """Means of three by three cells."""
    padded = np.pad(cells, 1, mode="edge")
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return np.asarray((rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9, np.float32)
