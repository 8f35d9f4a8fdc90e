"""Steps that the reference doesn't have: blocking, on a regular grid, and banding, as CAMBI finds it."""

from __future__ import annotations

import itertools
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity import _native
from acuity.errors import UnfitPictureError
from acuity.features.cambi import Cambi
from acuity.features.extractor import Geometry
from acuity.features.visible_steps import visible_steps
from acuity.frames.artefacts.cells import Grid, Plane, cell_means, smoothed
from acuity.frames.artefacts.findings import Anchors, worst
from acuity.frames.artefacts.measure import CellFigures, Figures, Gathered, Measure, Strip
from acuity.video.picture import Samples

_CELLS_OF_PATTERN: Final = 5  # cells that a pattern is looked for in, the one in the middle being judged
_LEAST_OWN_LINES: Final = 6
_LINES_A_PERIOD: Final = (1, 2, 3)  # lines of the grid in one period of the pattern
_LACKING: Final = 0.1  # of the lines may lack an edge; in texture, many more do


def own_lines(profiles: Plane, first: int, period: float, starts: list[int]) -> Plane:
    """How far the reference's steps stand out at the distance of a grid's lines, at any phase, in each cell.

    The first axis of the profiles is the one of the lines. A pattern that was moved or blurred has its steps
    at other phases than the reference, so all of them are tried; and a grid can have several lines in each
    of its periods.
    """
    found = np.zeros((len(starts), profiles.shape[1]), np.float32)
    for times in _LINES_A_PERIOD:
        for phase in range(int(np.ceil(times * period))):
            regular = _regular(profiles, first + phase, times * period, starts)
            if regular is not None:
                np.maximum(found, regular / np.float32(times), out=found)
    # A pattern may reach into the cells beside it, too little to be seen there.
    beside = np.pad(found, ((0, 0), (1, 1)))
    return np.maximum(found, np.maximum(beside[:, :-2], beside[:, 2:]))


def _regular(profiles: Plane, first: int, period: float, starts: list[int]) -> Plane | None:
    """The height that most lines around each cell reach; None if there are too few lines."""
    count = int((profiles.shape[0] - 1 - first) / period) + 1
    if count < _LEAST_OWN_LINES:
        return None
    lines = profiles[np.rint(first + period * np.arange(count)).astype(np.intp)]
    ends = [*starts[1:], profiles.shape[0]]
    window = min(count, max(_LEAST_OWN_LINES, round(_CELLS_OF_PATTERN * (ends[0] - starts[0]) / period)))
    middles = (np.asarray(starts) + np.asarray(ends)) / 2
    begins = np.rint((middles - first) / period - window / 2).astype(np.intp)
    around = lines[np.clip(begins, 0, count - window)[:, None] + np.arange(window)]
    place = int(_LACKING * (window - 1))
    return np.asarray(np.partition(around, place, axis=1)[:, place], np.float32)


# Sides of blocks in samples; those that aren't powers of two come from pictures that were enlarged.
_PERIODS: Final = (4, 16 / 3, 6, 8, 32 / 3, 12, 16, 64 / 3, 24, 32)
# Enlarging three times leaves steps of this period and its multiples 6, 12 and 24; blocks have higher ones.
_SCALED: Final = (3,)
_SCALED_STEPS: Final = 3.0  # levels
_AS_HIGH: Final = 0.7  # of the steps on a coarser grid: blocks have nothing between their borders
_LEAST_LINES: Final = 3
_MASKING: Final = 6.0  # levels of fine detail around that make steps half as visible
_UNEVEN: Final = 4.0  # levels that an area is brighter by than others: its border is a step, too
_LEAST_DEVIATION: Final = 0.02  # levels: profiles of made pictures can be without chance
_CERTAIN: Final = 5.0  # a grid stands out this many standard errors, or it is chance
_OWN: Final = 4.0  # times a pattern of the reference that steps may stand out by when it is moved or blurred
_ROUNDS: Final = 3  # grids that are looked for when those before were patterns of the reference


class Lines(NamedTuple):
    """Where the lines of the best grid are, and how far they stand out."""

    positions: NDArray[np.intp]
    period: float
    excess: float
    certainty: float


class Blocking(Measure):
    name = "blocking"
    anchors = Anchors(0.35, 1.0, 3.2, 10.0)  # levels that steps on the grid are larger than others

    def gather(self, strip: Strip) -> Figures | None:
        if strip.grid.small:
            return None
        luma, inner = strip.luma, strip.inner
        ref_across, across = (_means_down(_peaks(plane[inner], 1), strip.row_starts) for plane in luma)
        ref_down, down = (_means_across(_peaks(plane, 0)[inner], strip.grid.columns) for plane in luma)
        return ref_across, across, ref_down, down, strip.means(strip.details[0].dis)

    def judge(self, gathered: Gathered) -> CellFigures | None:
        # (rows of cells, columns) twice, (rows, columns of cells) twice, cells
        ref_across, across, ref_down, down, detail = gathered.figures
        grid = gathered.grid
        cells = _blocks(ref_across.T, across.T, grid.columns).T + _blocks(ref_down, down, grid.rows)
        cells = np.maximum(cells / 2, 0) / (1 + detail / np.float32(_MASKING))
        shift = smoothed(gathered.dis_means - gathered.ref_means)
        cells /= 1 + np.abs(shift - np.median(shift)) / np.float32(_UNEVEN)
        return CellFigures(worst(cells), cells)


def _blocks(ref: Plane, dis: Plane, starts: list[int]) -> Plane:
    """Steps in each cell on the lines of the best grid that isn't in the reference, along the first axis."""
    added = dis - ref
    sizes = np.diff([*starts, added.shape[0]])
    for _ in range(_ROUNDS):
        lines = _best_grid(added.mean(axis=1))
        if lines is None:
            break
        cells = _on_lines(added, lines, starts)
        own = own_lines(ref, int(lines.positions[0] % lines.period), lines.period, starts) * np.float32(_OWN)
        left = np.where(own > 0, np.maximum(cells - own, 0), cells)
        patterned = (own > 0) & (left <= 0) & (cells > 0)
        if cells[patterned].sum() < np.maximum(cells, 0).sum() / 2:
            return left
        added = np.where(patterned.repeat(sizes, axis=0), np.float32(0), added)  # look for a grid elsewhere
    return np.zeros((len(starts), dis.shape[1]), np.float32)


def _peaks(luma: Plane, axis: int) -> Plane:
    """How far the step before each sample is above the mean of the steps beside it; 0 near the borders."""
    out = np.zeros_like(luma)
    steps, inner = (np.moveaxis(plane, axis, 0) for plane in (np.abs(np.diff(luma, axis=axis)), out))
    np.subtract(steps[1:-1], (steps[:-2] + steps[2:]) * np.float32(0.5), out=inner[2:-1])
    return out


def _means_down(plane: Plane, starts: list[int]) -> Plane:
    bounds = itertools.pairwise([*starts, plane.shape[0]])
    return np.stack([plane[start:end].mean(axis=0) for start, end in bounds])


def _means_across(plane: Plane, starts: list[int]) -> Plane:
    counts = np.diff([*starts, plane.shape[1]]).astype(np.float32)
    return np.asarray(np.add.reduceat(plane, starts, axis=1) / counts, np.float32)


def _best_grid(profile: Plane) -> Lines | None:
    """The regular lines that stand out most from a profile along one axis; None if none do for certain."""
    best = _most_certain(profile, _PERIODS)
    if best is None or best.certainty < _CERTAIN:
        return None
    finer = _most_certain(profile, _SCALED)
    if finer is None or best.excess >= _SCALED_STEPS or finer.certainty <= best.certainty:
        return best
    return best if finer.excess < _AS_HIGH * best.excess else None


def _most_certain(profile: Plane, periods: tuple[float, ...]) -> Lines | None:
    values = profile.astype(np.float64)
    found = (_lines(values, period, phase) for period in periods for phase in range(int(np.ceil(period))))
    return max(filter(None, found), key=lambda lines: lines.certainty, default=None)


def _lines(profile: NDArray[np.float64], period: float, phase: int) -> Lines | None:
    count = int((profile.size - 2 - phase) / period)
    if count < _LEAST_LINES:
        return None
    positions = np.rint(phase + period * np.arange(count + 1)).astype(np.intp)
    positions = positions[(positions >= 2) & (positions < profile.size - 1)]
    lines = profile[positions]
    # Mean and deviation of the rest, from sums over all.
    number = profile.size - lines.size
    mean = (profile.sum() - lines.sum()) / number
    square = (np.dot(profile, profile) - np.dot(lines, lines)) / number
    deviation = float(np.sqrt(max(square - mean * mean, 0.0)))
    # Without the highest: a single edge that was added isn't a grid.
    excess = float((lines.sum() - lines.max()) / (lines.size - 1) - mean)
    return Lines(positions, period, excess, excess * lines.size**0.5 / max(deviation, _LEAST_DEVIATION))


def _on_lines(profiles: Plane, lines: Lines, starts: list[int]) -> Plane:
    """The mean on the lines in each cell, above that beside them; the first axis is the one of the lines."""
    marked = np.zeros(profiles.shape[0], np.float32)
    marked[lines.positions] = 1
    counts = np.add.reduceat(marked, starts)
    sizes = np.diff([*starts, profiles.shape[0]]).astype(np.float32)
    on = np.add.reduceat(profiles * marked[:, None], starts, axis=0)
    off = np.add.reduceat(profiles * (1 - marked)[:, None], starts, axis=0)
    above = on / np.maximum(counts, 1)[:, None] - off / np.maximum(sizes - counts, 1)[:, None]
    return np.asarray(above, np.float32)


_LARGEST_STEP: Final = 32  # at 10 bits; CAMBI's own 4 leave out all but the finest bands
_ANTI_DITHER_BELOW: Final = 10  # bits
_COARSE_DEPTH: Final = 10
_MIDDLE: Final = 384  # puts 256 levels in the middle of 10 bits


class Banding(Measure):
    name = "banding"
    anchors = Anchors(3.0, 10.0, 32.0, 60.0)  # points of CAMBI, of fine and coarse steps together

    def judge(self, gathered: Gathered) -> CellFigures | None:
        frame, grid = gathered.frame, gathered.grid
        depth = frame.ref.format.depth
        fine = _kernel(grid, depth, frame.eotf)
        if fine is None:
            return None
        figure, cells = _added(fine, frame.ref.luma, frame.dis.luma, grid)
        # Steps that are too large for CAMBI are in its range when contrast is a quarter.
        coarse = _kernel(grid, _COARSE_DEPTH, frame.eotf)
        if coarse is not None:
            ref, dis = (  # with a level of 8 bits as a step of 10 bits
                ((luma >> (depth - 8)) + np.uint16(_MIDDLE)).astype(np.uint16)
                for luma in (frame.ref.luma, frame.dis.luma)
            )
            more, more_cells = _added(coarse, ref, dis, grid)
            figure, cells = figure + more, cells + more_cells
        return CellFigures(figure, cells)


def _kernel(grid: Grid, depth: int, eotf: str) -> _native.Cambi | None:
    """CAMBI for pictures of a size; None if they are too small for it."""
    cambi, geometry = Cambi({"cambi_high_res_speedup": 1080}), Geometry(grid.width, grid.height, depth)
    try:
        cambi.check_size(geometry)
    except UnfitPictureError:
        return None
    return _native.Cambi(
        _native.Workspace(),
        grid.width,
        grid.height,
        depth,
        judged=cambi.judged((grid.width, grid.height), geometry),
        source=None,
        smooth=depth < _ANTI_DITHER_BELOW,
        halve=cambi.halves(geometry),
        share=cambi.share,
        steps=visible_steps(eotf, cambi.number("tvi_threshold"), 0.0, _LARGEST_STEP),
        heatmaps=True,
    )


def _added(kernel: _native.Cambi, ref: Samples, dis: Samples, grid: Grid) -> tuple[float, Plane]:
    """Points that the distorted picture has more than the reference, in all and in cells."""
    (dis_score, dis_cells), (ref_score, ref_cells) = (_contrasts(kernel, luma, grid) for luma in (dis, ref))
    return max(0.0, dis_score - ref_score), np.maximum(dis_cells - ref_cells, 0)


def _contrasts(kernel: _native.Cambi, luma: Samples, grid: Grid) -> tuple[float, Plane]:
    """The score of a picture, and where its bands are, in points of the score."""
    maps: list[NDArray[np.uint16]] = [np.zeros((height, width), np.uint16) for width, height in kernel.sizes]
    score = kernel.run(luma, luma, maps)[0]
    cells = np.zeros(grid.shape, np.float32)
    for image in maps:
        if image.shape[0] < grid.shape[0] or image.shape[1] < grid.shape[1]:
            break  # of the coarsest scales of small pictures
        rows = [start * image.shape[0] // grid.height for start in grid.rows]
        columns = [start * image.shape[1] // grid.width for start in grid.columns]
        cells += cell_means(image, rows, columns)
    mean = float(cells.mean())
    return score, cells * np.float32(score / mean) if mean > 0 else cells
