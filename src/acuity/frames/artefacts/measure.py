"""Measure, the base of all measures of artefacts, and the strips of two pictures that it reads, in levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.features.extractor import Pair
from acuity.frames.artefacts.cells import Grid, Plane, Rows, cell_means
from acuity.frames.artefacts.findings import Anchors
from acuity.video.alignment.geometry import halved
from acuity.video.picture import Picture, Samples


@dataclass(frozen=True, slots=True)
class ExaminedFrame:
    """Two pictures that are compared, of one size and format, and the pair before, if there is one."""

    ref: Picture
    dis: Picture
    before: Pair | None = None  # without it a freeze can't be found
    index: int = 0  # the number of the pair
    frozen_since: int | None = None  # number of the frame that this and those between repeat, if known
    # Luma of the references around, by number.
    neighbours: Mapping[int, Samples] = field(default_factory=dict)
    full_range: bool = False
    eotf: str = "bt1886"  # how CAMBI weighs steps; "pq" for HDR10

    @property
    def level(self) -> float:
        """Samples in one level: measures count in levels of 8-bit video of limited range."""
        depth = 1 << (self.ref.format.depth - 8)
        return depth * (255 / 219 if self.full_range else 1.0)


_LEAST_SPREAD: Final = 6.0  # levels between cells, as a standard deviation, below which no slope is fitted
_LEAST_CHANGE: Final = 1.0  # levels; smaller changes are left alone
_SLOPES: Final = (0.2, 5.0)
_CURVED: Final = 24  # cells needed for a curve
_ROUNDS: Final = 4


class Tone(NamedTuple):
    """A polynomial of the luma in levels, or no change."""

    coefficients: NDArray[np.float64] | None = None

    def __call__(self, luma: Plane) -> Plane:
        if self.coefficients is None:
            return luma
        first, *rest = (np.float32(value) for value in self.coefficients)
        out = luma * first
        for value in rest[:-1]:
            out += value
            out *= luma
        out += rest[-1]
        return out

    @classmethod
    def between(cls, ref: Plane, dis: Plane) -> Tone:
        """The curve between the means of cells; robust against cells that are damaged otherwise."""
        x, y = ref.ravel().astype(np.float64), dis.ravel().astype(np.float64)
        spread = float(x.std())
        if spread < _LEAST_SPREAD or x.size < 6:
            shift = float(np.median(y - x))
            return cls(np.array([1.0, shift])) if abs(shift) >= _LEAST_CHANGE else cls()
        for degree in (2, 1) if x.size >= _CURVED else (1,):
            coefficients = _robust_fit(x, y, degree)
            ends = np.percentile(x, (2, 50, 98))
            slopes = np.polyval(np.polyder(coefficients), ends)
            if slopes.min() < _SLOPES[0] or slopes.max() > _SLOPES[1]:
                continue
            change = np.abs(np.polyval(coefficients, ends) - ends)
            return cls(coefficients) if change.max() >= _LEAST_CHANGE else cls()
        return cls()


def _robust_fit(x: NDArray[np.float64], y: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Least squares, again with less weight on cells that are far off."""
    weights = np.ones_like(x)
    middle, scale = x.mean(), x.std()
    coefficients = np.zeros(degree + 1)
    for _ in range(_ROUNDS):
        powers = ((x - middle) / scale)[:, None] ** np.arange(degree, -1, -1)
        coefficients = np.linalg.lstsq(powers * weights[:, None], y * weights, rcond=None)[0]
        off = np.abs(powers @ coefficients - y)
        weights = 1 / np.maximum(1.0, off / max(0.5, 1.5 * float(np.median(off))))
    # Back to powers of x itself.
    shifted = np.poly1d(coefficients)(np.poly1d([1 / scale, -middle / scale]))
    return np.asarray(np.pad(shifted.coeffs, (degree + 1 - len(shifted.coeffs), 0)), np.float64)


_REACH: Final = 4  # samples
_EDGE: Final = 24.0  # levels between the tones beside an edge


class Around(NamedTuple):
    """The tones within reach of each sample; `edges` is 1 where they differ as at an edge, else 0."""

    high: Plane
    low: Plane
    edges: Plane


def around(luma: Plane) -> Around:
    high, low = (_along(_along(luma, extreme, 0), extreme, 1) for extreme in (np.maximum, np.minimum))
    return Around(high, low, (high - low > _EDGE).astype(np.float32))


def _along(plane: Plane, extreme: np.ufunc, axis: int) -> Plane:
    """The extreme of 2 * reach + 1 samples, with samples beyond the border like those at it."""
    pad = [(0, 0), (0, 0)]
    pad[axis] = (_REACH, _REACH)
    window = np.moveaxis(np.pad(plane, pad, mode="edge"), axis, 0)
    for step in (1, 2, 4, 1):  # windows of 2, 4, 8, 9
        window = extreme(window[:-step], window[step:])
    return np.moveaxis(window, 0, axis)


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
        """For each sample, how much brighter its cell is than the reference with the same tones."""
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
            both = Both(halved(both.ref), halved(both.dis))
        return found

    def means(self, plane: Plane, octave: int = 0) -> Plane:
        """Means of the cells of a plane that has the strip's rows, margins included, in an octave."""
        inner = slice(self.inner.start >> octave, max(1, self.inner.stop >> octave))
        rows = [start >> octave for start in self.row_starts]
        columns = [start >> octave for start in self.grid.columns]
        return cell_means(plane[inner], rows, columns)


def _detail(plane: Plane) -> Plane:
    """A plane minus its three by three binomial mean; 0 at the borders of the plane."""
    rows = plane[:-2] + 2 * plane[1:-1] + plane[2:]
    out = np.zeros_like(plane)
    smooth = rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]
    np.subtract(plane[1:-1, 1:-1], smooth * np.float32(1 / 16), out=out[1:-1, 1:-1])
    return out


Figures = tuple[NDArray[np.float32], ...]  # first axis: rows of cells, or rows of samples


class Gathered(NamedTuple):
    """What a measure judges by: the frame, its cells, their mean lumas, and the figures of all strips."""

    frame: ExaminedFrame
    grid: Grid
    ref_means: Plane
    dis_means: Plane
    figures: Figures


class CellFigures(NamedTuple):
    """A figure for the picture, in the measure's unit, and one for each cell."""

    figure: float
    cells: Plane


class Measure:
    """Measures one artefact: figures of strips first, then a judgement of all of them."""

    name: str
    anchors: Anchors

    def gather(self, strip: Strip) -> Figures | None:
        """Figures of a strip; None if the picture is too small or something else is missing."""
        return ()

    def judge(self, gathered: Gathered) -> CellFigures | None:
        """How bad the artefact is; None if it can't be measured here."""
        raise NotImplementedError
