"""The cells that a picture is measured in, and the strips of rows that it is read in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.box import Box, Place

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
        self.columns = _starts(width, side)
        self.rows = _starts(height, side)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def box(self, place: Place) -> Box:
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


def _starts(length: int, side: int) -> list[int]:
    count = max(1, length // side)
    return [number * side for number in range(count)]


def cell_sums(plane: NDArray[np.generic], rows: list[int], columns: list[int]) -> NDArray[np.float64]:
    """Sums between starts of rows and columns; float64, because cells can have many samples."""
    ends = [*rows[1:], plane.shape[0]]
    # Sums over an axis are several times faster than reduceat over it.
    down = [plane[start:end].sum(axis=0, dtype=np.float32) for start, end in zip(rows, ends, strict=True)]
    return np.add.reduceat(np.stack(down), columns, axis=1, dtype=np.float64)


def cell_means(plane: NDArray[np.generic], rows: list[int], columns: list[int]) -> Plane:
    height, width = plane.shape
    counts = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    return np.asarray(cell_sums(plane, rows, columns) / counts, np.float32)


def smoothed(cells: Plane) -> Plane:
    """Means of three by three cells."""
    padded = np.pad(cells, 1, mode="edge")
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return np.asarray((rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9, np.float32)
