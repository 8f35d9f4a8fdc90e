"""Freeze: the distorted picture stays as it was while the reference moves."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.grid import Grid, Plane, cell_means, smoothed
from acuity.frames.artefacts.measure import Measured
from acuity.frames.artefacts.severity import Anchors
from acuity.video.picture import Samples

FREEZE: Final = "freeze"
FREEZE_ANCHORS: Final = Anchors(0.15, 0.5, 1.0, 6.0)  # levels of motion of the reference, without fine detail

_SHRINK: Final = 4  # pictures are compared in means of so many samples each way
_MOVES: Final = 0.5  # levels that a cell changes by if it moves
_NOISE: Final = 0.4  # of its change: what is left when the part that noise can explain is taken away
_LOST_NOISE: Final = 0.92  # of a change: a picture without noise is at 0.71, one that is frozen at 1 or more
_LEAST_MOVING: Final = 0.02  # share of cells
_STILL: Final = 0.12  # share of the reference's motion that a frozen picture may have
_SAME: Final = 0.5  # of the distance to the reference: a picture nearer than this is the one that is repeated
_SMALLEST: Final = 16


class Freeze(NamedTuple):
    """How badly a picture is frozen, and whether it repeats what the reference showed just before."""

    measured: Measured
    repeats_last: bool


def find_freeze(frame: ExaminedFrame, grid: Grid) -> Freeze | None:
    """The freeze of a frame, with a figure of 0 if there is none; None if that can't be known."""
    before = frame.before
    if before is None or min(grid.width, grid.height) < _SMALLEST:
        return None
    level = np.float32(frame.level)
    ref, dis = _levels(frame.ref.luma, level), _levels(frame.dis.luma, level)
    last_ref, last_dis = _levels(before.ref.luma, level), _levels(before.dis.luma, level)
    changed, stayed = _distances(ref - last_ref, grid), _distances(dis - last_dis, grid)
    moving = _moving(
        changed, _distances(_halved(ref - last_ref), grid, 2 * _SHRINK), _distances(dis - ref, grid)
    )
    if moving.mean() < _LEAST_MOVING or stayed[moving].sum() > _STILL * changed[moving].sum():
        return Freeze(Measured(0.0, np.zeros_like(changed)), False)
    cells = np.where(moving, np.maximum(changed - stayed, 0), np.float32(0))
    repeats_last = float(np.abs(dis - last_ref).mean()) <= _SAME * float(np.abs(dis - ref).mean())
    return Freeze(Measured(float(cells[moving].mean()), cells), repeats_last)


def _moving(changed: Plane, coarse: Plane, off: Plane) -> NDArray[np.bool_]:
    """Cells that move, of which the changes, those in means of twice the side and the errors are given.

    Noise changes, too. But it changes half as much in means of twice the side, and a picture that lost it
    is nearer to the reference than the references are to each other.
    """
    changed, coarse, off = smoothed(changed), smoothed(coarse), smoothed(off)
    motion = 2 * coarse - changed
    noisy = (motion < np.maximum(np.float32(_MOVES), _NOISE * changed)) & (off < _LOST_NOISE * changed)
    return np.asarray((changed > _MOVES) & ~noisy)


def _levels(luma: Samples, level: np.float32) -> Plane:
    """Luma in means of small squares, without fine detail; a rest at the border is left out."""
    height, width = (length // _SHRINK * _SHRINK for length in luma.shape)
    rows = luma[0:height:_SHRINK, :width].astype(np.float32)
    for row in range(1, _SHRINK):
        rows += luma[row:height:_SHRINK, :width]
    columns = rows[:, ::_SHRINK].copy()
    for column in range(1, _SHRINK):
        columns += rows[:, column::_SHRINK]
    return np.asarray(columns / (level * _SHRINK**2), np.float32)


def _halved(plane: Plane) -> Plane:
    height, width = plane.shape[0] & ~1, plane.shape[1] & ~1
    rows = plane[0:height:2, :width] + plane[1:height:2, :width]
    return np.asarray((rows[:, ::2] + rows[:, 1::2]) / 4, np.float32)


def _distances(difference: Plane, grid: Grid, shrink: int = _SHRINK) -> Plane:
    """Means of cells, of pictures that were shrunk."""
    rows, columns = ([start // shrink for start in starts] for starts in (grid.rows, grid.columns))
    return cell_means(np.abs(difference), rows, columns)
