"""Pictures that show something else than the reference: blank, frozen, misaligned, or combed."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.cells import Grid, Plane, cell_means, smoothed
from acuity.frames.artefacts.findings import Anchors, worst
from acuity.frames.artefacts.measure import CellFigures, ExaminedFrame, Figures, Gathered, Measure, Strip
from acuity.video.alignment.geometry import LEAST_GAIN, halved, squared_error, transformation
from acuity.video.picture import Samples

BLANK: Final = "blank"
_ONE_COLOUR: Final = 1.0  # levels of standard deviation that coding leaves in a picture of one colour
_PICTURE: Final = 5.0  # levels of standard deviation of luma from which a reference shows something
_SMALLEST: Final = 16  # samples of a side: smaller pictures are too small to know
_BLACK: Final = 24.0  # levels of luma, limited range; in full range 16 fewer
_NEUTRAL: Final = 4.0  # levels of chroma


def find_blank(frame: ExaminedFrame) -> str | None:
    """The words for a blank picture; empty if it isn't blank; None if it is too small to know."""
    if min(frame.ref.width, frame.ref.height) < _SMALLEST:
        return None
    plain = all(_spread(plane, frame.level) <= _ONE_COLOUR for plane in frame.dis.planes)
    if not plain or _spread(frame.ref.luma, frame.level) < _PICTURE:
        return ""
    word = "black" if _is_black(frame) else "of one colour"
    return f"the picture is {word}, the reference isn't"


def _spread(plane: Samples, level: float) -> float:
    return float(np.std(plane, dtype=np.float64)) / level


def _is_black(frame: ExaminedFrame) -> bool:
    luma, *chroma = (float(np.mean(plane)) for plane in frame.dis.planes)
    neutral = 1 << (frame.dis.format.depth - 1)
    darkest = _BLACK - 16 if frame.full_range else _BLACK
    return luma / frame.level <= darkest and all(
        abs(mean - neutral) / frame.level <= _NEUTRAL for mean in chroma
    )


# Times the squared error of the other rows: encoders, scalers and noise treat rows alike.
_UNEVEN: Final = 2.5
_ROUNDING: Final = 0.1  # squared levels that don't count


class Combing(Measure):
    name = "combing"
    anchors = Anchors(1.5, 4.0, 10.0, 30.0)  # levels that one half of the rows is off more than the other

    def gather(self, strip: Strip) -> Figures | None:
        if strip.grid.small:
            return None
        off = np.square(strip.luma.dis - strip.luma.ref)
        upper, lower = off.copy(), off
        upper[1::2], lower[::2] = 0, 0  # strips begin with an even row
        return strip.means(upper), strip.means(lower)

    def judge(self, gathered: Gathered) -> CellFigures | None:
        upper, lower = gathered.figures
        if not _uneven(float(upper.mean()), float(lower.mean())):
            return CellFigures(0.0, np.zeros_like(upper))
        more: Plane = upper - lower if upper.sum() > lower.sum() else lower - upper
        cells = np.sqrt(2 * np.maximum(more, 0))
        return CellFigures(worst(cells), cells)


def is_combed(ref: Samples, dis: Samples, level: float) -> bool:
    """Whether one half of the rows is like the reference, and the other isn't."""
    off = np.square((dis.astype(np.float32) - ref) / np.float32(level))
    return _uneven(float(off[::2].mean()), float(off[1::2].mean()))


def _uneven(one: float, other: float) -> bool:
    return max(one, other) > _UNEVEN * (min(one, other) + _ROUNDING)


FREEZE: Final = "freeze"
FREEZE_ANCHORS: Final = Anchors(0.15, 0.5, 1.0, 6.0)  # levels of motion of the reference, without fine detail

_SHRINK: Final = 4  # pictures are compared in means of so many samples each way
_MOVES: Final = 0.5  # levels that a cell changes by if it moves
_NOISE: Final = 0.4  # a cell moves if so much of its change is left without the part that noise explains
_LOST_NOISE: Final = 0.92  # of a change: a picture without noise is at 0.71, one that is frozen at 1 or more
_LEAST_MOVING: Final = 0.02  # share of cells
_STILL: Final = 0.12  # share of the reference's motion that a frozen picture may have
_SAME: Final = 0.5  # of the distance to the reference: a picture nearer than this is the one that is repeated


def find_freeze(frame: ExaminedFrame, grid: Grid) -> tuple[CellFigures, bool] | None:
    """How badly a picture is frozen, and whether it repeats what the reference showed just before.

    The figure is 0 if it isn't frozen; None if that can't be known.
    """
    before = frame.before
    if before is None or grid.small:
        return None
    level = np.float32(frame.level)
    ref, dis = _levels(frame.ref.luma, level), _levels(frame.dis.luma, level)
    last_ref, last_dis = _levels(before.ref.luma, level), _levels(before.dis.luma, level)
    changed, stayed = _distances(ref - last_ref, grid), _distances(dis - last_dis, grid)
    moving = _moving(
        changed, _distances(halved(ref - last_ref), grid, 2 * _SHRINK), _distances(dis - ref, grid)
    )
    if moving.mean() < _LEAST_MOVING or stayed[moving].sum() > _STILL * changed[moving].sum():
        return CellFigures(0.0, np.zeros_like(changed)), False
    cells = np.where(moving, np.maximum(changed - stayed, 0), np.float32(0))
    repeats_last = float(np.abs(dis - last_ref).mean()) <= _SAME * float(np.abs(dis - ref).mean())
    return CellFigures(float(cells[moving].mean()), cells), repeats_last


def _moving(changed: Plane, coarse: Plane, off: Plane) -> NDArray[np.bool_]:
    """The cells that move, from the change of each, its change in means of twice the side, and its error.

    Noise changes, too. But it changes half as much in means of twice the side, and a picture that lost it
    is nearer to the reference than the references are to each other.
    """
    changed, coarse, off = smoothed(changed), smoothed(coarse), smoothed(off)
    motion = 2 * coarse - changed
    noisy = (motion < np.maximum(np.float32(_MOVES), _NOISE * changed)) & (off < _LOST_NOISE * changed)
    return np.asarray((changed > _MOVES) & ~noisy)


def _levels(luma: Samples, level: np.float32) -> Plane:
    """Luma in means of small squares, without fine detail; a rest at the border is left out."""
    return np.asarray(halved(halved(luma.astype(np.float32))) / level)


def _distances(difference: Plane, grid: Grid, shrink: int = _SHRINK) -> Plane:
    """Means of cells, of pictures that were shrunk."""
    rows, columns = ([start // shrink for start in starts] for starts in (grid.rows, grid.columns))
    return cell_means(np.abs(difference), rows, columns)


MISALIGNED: Final = "misaligned"
_AS_GOOD: Final = 0.5  # of a shift's gain: another moment with as much counts, as panning cameras shift, too


def find_misaligned(frame: ExaminedFrame) -> str | None:
    """How a picture is moved in space or time, in words; empty: it isn't; None: it is too small to know."""
    ref, dis = frame.ref.luma, frame.dis.luma
    if min(ref.shape) < _SMALLEST:
        return None
    if is_combed(ref, dis, frame.level):  # a mean of two moments may look like a shift
        return ""
    moved = transformation(ref, dis)
    error = squared_error(ref, dis)
    gains = {number: error / squared_error(luma, dis) for number, luma in frame.neighbours.items()}
    moment = max(gains, key=lambda number: gains[number], default=None)
    if moment is not None and gains[moment] >= max(LEAST_GAIN, _AS_GOOD * moved.gain if moved else 0.0):
        return f"the picture shows another moment, frame {moment} of the reference"
    return "" if moved is None else f"the picture is {moved}"
