"""A strip of rows of both pictures in levels, and what several measures need of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.grid import Grid, Plane, Rows, cell_means
from acuity.frames.artefacts.local_range import Around, around
from acuity.frames.artefacts.tone import Tone

MARGIN: Final = 8  # rows above and below that measures may look at; a multiple of the tile
OCTAVES: Final = 3


class Both(NamedTuple):
    """The same figures of the reference and of the distorted picture."""

    ref: Plane
    dis: Plane


class Strip:
    """Rows of cells, and the rows of samples around them."""

    def __init__(self, frame: ExaminedFrame, tone: Tone, grid: Grid, rows: Rows) -> None:
        self.grid = grid
        self.top = max(0, rows.start - MARGIN)  # row of the picture that the samples begin at
        self.bottom = min(grid.height, rows.stop + MARGIN)
        self.inner = slice(rows.start - self.top, rows.stop - self.top)  # rows of the cells
        self.row_starts = [start - rows.start for start in grid.rows[rows.first_cell : rows.last_cell]]
        self._frame = frame
        self._tone = tone

    def _levels(self, samples: NDArray[np.generic]) -> Plane:
        return samples[self.top : self.bottom].astype(np.float32) * np.float32(1 / self._frame.level)

    @cached_property
    def luma(self) -> Both:
        """Luma in levels; the reference has the tones of the distorted picture."""
        return Both(self._tone(self._levels(self._frame.ref.luma)), self._levels(self._frame.dis.luma))

    @cached_property
    def around(self) -> Around:
        """The tones of the reference around each sample."""
        return around(self.luma.ref)

    @cached_property
    def offsets(self) -> Plane:
        """How much brighter than the reference, with its tones, each sample's cell is."""
        means = self.means(self.luma.dis - self.luma.ref)
        bounds = [*self.row_starts, self.inner.stop - self.inner.start]
        heights = np.diff(bounds)
        heights[0] += self.inner.start  # margins are like the cells beside them
        heights[-1] += self.bottom - self.top - self.inner.stop
        return means.repeat(heights, axis=0).repeat(np.diff([*self.grid.columns, self.grid.width]), axis=1)

    @cached_property
    def details(self) -> list[Both]:
        """Absolute detail of each octave: what a small blur would take away. Octaves halve the size."""
        both, found = self.luma, []
        for _ in range(OCTAVES):
            if min(both.ref.shape) < 4:
                break
            found.append(Both(np.abs(_detail(both.ref)), np.abs(_detail(both.dis))))
            both = Both(_halved(both.ref), _halved(both.dis))
        return found

    def means(self, plane: Plane, octave: int = 0) -> Plane:
        """Means of the cells of a plane that has the strip's rows, margins included, in an octave."""
        height = plane.shape[0]
        inner = slice(self.inner.start >> octave, min(height, max(1, self.inner.stop >> octave)))
        rows = [start >> octave for start in self.row_starts]
        columns = [start >> octave for start in self.grid.columns]
        return cell_means(plane[inner], rows, columns)


def strips(frame: ExaminedFrame, tone: Tone, grid: Grid) -> Iterator[Strip]:
    for rows in grid.strips():
        yield Strip(frame, tone, grid, rows)


def _halved(plane: Plane) -> Plane:
    """Means of two by two; an odd last row or column is left out."""
    height, width = plane.shape[0] & ~1, plane.shape[1] & ~1
    rows = plane[0:height:2] + plane[1:height:2]
    return (rows[:, 0:width:2] + rows[:, 1:width:2]) * np.float32(0.25)


def _detail(plane: Plane) -> Plane:
    """A plane minus its three by three binomial mean; 0 at the borders of the plane."""
    rows = plane[:-2] + 2 * plane[1:-1] + plane[2:]
    out = np.zeros_like(plane)
    smooth = rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]
    np.subtract(plane[1:-1, 1:-1], smooth * np.float32(1 / 16), out=out[1:-1, 1:-1])
    return out
