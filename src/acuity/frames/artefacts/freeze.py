"""Freeze: the distorted picture stays as it was while the reference moves."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.grid import Grid, Plane, cell_means
from acuity.frames.artefacts.measure import Measured
from acuity.frames.artefacts.severity import Anchors

NAME: Final = "freeze"
ANCHORS: Final = Anchors(0.15, 0.5, 1.0, 6.0)  # levels, without fine detail, that the reference moves by

_SHRINK: Final = 4  # pictures are compared in means of so many samples each way
_MOVES: Final = 0.5  # levels that a cell changes by if it moves
_LEAST_MOVING: Final = 0.01  # share of cells
_STILL: Final = 0.12  # share of the reference's motion that a frozen picture may have
_SAME: Final = 0.3  # of the distance to the reference: a picture nearer than this is the one that is repeated
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
    ref, dis = _small(frame.ref.luma) / level, _small(frame.dis.luma) / level
    last_ref, last_dis = _small(before.ref.luma) / level, _small(before.dis.luma) / level
    moved, stayed = _distances(ref, last_ref, grid), _distances(dis, last_dis, grid)
    moving = moved > _MOVES
    if moving.mean() < _LEAST_MOVING or stayed[moving].sum() > _STILL * moved[moving].sum():
        return Freeze(Measured(0.0, np.zeros_like(moved)), False)
    cells = np.where(moving, np.maximum(moved - stayed, 0), np.float32(0))
    repeats_last = float(np.abs(dis - last_ref).mean()) <= _SAME * float(np.abs(dis - ref).mean())
    return Freeze(Measured(float(cells[moving].mean()), cells), repeats_last)


def _small(luma: NDArray[np.generic]) -> Plane:
    rows, columns = (list(range(0, length // _SHRINK * _SHRINK, _SHRINK)) for length in luma.shape)
    return cell_means(luma, rows, columns)


def _distances(one: Plane, other: Plane, grid: Grid) -> Plane:
    rows, columns = ([start // _SHRINK for start in starts] for starts in (grid.rows, grid.columns))
    return cell_means(np.abs(one - other), rows, columns)
