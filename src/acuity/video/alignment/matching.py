"""How alike frames are, and what it costs to match them: the evidence of an alignment."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.arrays import np
from acuity.video.alignment.signature import flat
from acuity.video.picture import AnySignature, Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

Figures: TypeAlias = "NDArray[np.float64]"

# Variance of a cell, in squared 8-bit steps, that rounding and the encoder's finest noise make.
FLOOR: Final = 0.05
FLAT: Final = 0.3  # standard deviation of a signature, in 8-bit steps, below which it is flat
# A cost is about the negative logarithm of a likelihood. Encoders predict frames from earlier and later ones,
# so that a picture may show a moment up to this many frames away (less where the error is small). The
# difference of two errors is uncertain by this share of them.
_LAG: Final = 0.3
_UNCERTAIN: Final = 0.02
MOST: Final = 20.0  # the greatest cost of one frame
# At low quality a frame resembles earlier ones, because little of it was coded. So the part of the cost that
# prefers earlier frames is multiplied by the first figure, or by the second where the reference changes in
# the same way from frame to frame. It is limited to the third where the error is as large as the motion or
# larger.
_BEHIND: Final = 0.7
_BEHIND_STRAIGHT: Final = 0.1
_MOST_BEHIND: Final = 5.0
# The mean squared change in two frames is at least so many times that in one (4: the same change again).
_STRAIGHT: Final = 3.96
_STIRS: Final = 0.002  # the least mean squared change that is motion
_STRETCH: Final = 8  # frames before and after a frame, whose motion is the usual one there
# Cells that the encoder has just changed show the frame itself, and other cells still show earlier frames.
# So a cell's weight grows with its change: about half where the change is the first figure times the frame's
# error, and the second figure at least.
_FRESH: Final = 0.3
_LEAST_FRESH: Final = 0.02
# Frames can't be told apart if for most of them the error a frame away from the best match is larger by less
# than this share.
_HIDDEN: Final = 0.045
_AROUND: Final = 25  # frames before and after a frame that are looked at for that
# Pictures contradict a path if its errors are so many times the least ones, over so many frames.
_CONTRADICTED: Final = 1.5
_WINDOW: Final = 8


def errors(dis: Sequence[Signature], ref: Sequence[Signature], band: int = 0) -> Figures:
    """The mean squared error of each frame of the distorted video against each of the reference.

    With a band: against as many frames of the reference, from the frame at its own place on.
    """
    from acuity import _native

    found = np.empty((len(dis), band or len(ref)))
    _native.mean_squared_errors([*map(flat, dis)], [*map(flat, ref)], band, found.ravel())
    return found


def error_rows(dis: Sequence[AnySignature], ref: Sequence[AnySignature], band: int) -> list[list[float]]:
    """The same in a band, as Python's numbers."""
    from acuity import _native

    found: Any = array("d", bytes(8 * len(dis) * band))
    _native.mean_squared_errors([*map(flat, dis)], [*map(flat, ref)], band, found)
    return [found[row * band : (row + 1) * band].tolist() for row in range(len(dis))]


def fresh_errors(dis: Sequence[Signature], ref: Sequence[Signature], error: Figures) -> Figures:
    """The errors again, with most weight on the cells of each frame that are unlike those beside it."""
    mine, its = (np.stack([*map(np.ravel, side)]) for side in (dis, ref))
    change = np.square(np.diff(mine, axis=0))
    if not len(change):
        return error
    change = np.maximum(np.r_[change[:1], change], np.r_[change, change[-1:]])
    weight = change / (change + np.float32(_FRESH) * np.maximum(error.min(axis=1), FLOOR)[:, None])
    weight = np.asarray(weight + _LEAST_FRESH, np.float32)
    weight /= weight.sum(axis=1, keepdims=True)
    middle = its.mean(axis=0)  # smaller numbers, whose squares lose less
    mine, its = mine - middle, its - middle
    weighted = weight * mine
    fresh = (weighted * mine).sum(axis=1)[:, None] - 2 * weighted @ its.T + weight @ np.square(its).T
    return np.maximum(np.asarray(fresh, np.float64), 0.0)


def frame_costs(error: Figures, motion: Figures, *, straight: bool = False) -> Figures:
    """What it costs to match each frame with each other: its error above that of its best match.

    `motion` is that of usual_motion(): the error that a frame more or less makes. `straight` is whether the
    reference goes_straight().
    """
    least = error.min(axis=1, keepdims=True)
    moved = motion[error.argmin(axis=1), None]
    later = np.minimum.accumulate(error[:, ::-1], axis=1)[:, ::-1]  # the best match from each frame on
    noise = np.maximum(least, FLOOR)
    spread = 2 * (_LAG**2 * np.minimum(moved, noise) + _UNCERTAIN * noise)
    behind = (_BEHIND_STRAIGHT if straight else _BEHIND) * (later - least) / spread
    behind = np.minimum(behind, np.maximum(_MOST_BEHIND * moved / noise, _MOST_BEHIND))
    cost: Figures = np.minimum((error - later) / spread + behind, MOST)
    return cost


def motion_seen(error: Figures, ref: Sequence[Signature]) -> Figures:
    """For each frame: how much larger the error is a frame off the best match; NaN where nothing moves."""
    seen = np.full(len(error), np.nan)
    if len(ref) < 3:
        return seen
    moved = errors(ref[:-1], ref[1:], 1)[:, 0]
    best = np.clip(error.argmin(axis=1), 1, len(ref) - 2)
    frames = np.flatnonzero(np.maximum(moved[best - 1], moved[best]) > _STIRS)
    best = best[frames]
    least = error[frames, best]
    away = np.maximum(error[frames, best - 1], error[frames, best + 1])
    seen[frames] = (away - least) / np.maximum(least, FLOOR)
    return seen


def is_hidden(seen: Figures) -> bool:
    """Whether most of these frames can't be told from the frames beside them."""
    known = seen[~np.isnan(seen)]
    return bool(len(known)) and bool(np.median(known) < _HIDDEN)


def hidden_frames(seen: Figures) -> NDArray[np.bool_]:
    """For each frame, whether it and the frames around it can't be told apart."""
    around = [slice(max(frame - _AROUND, 0), frame + _AROUND + 1) for frame in range(len(seen))]
    return np.array([is_hidden(seen[stretch]) for stretch in around], bool)


def goes_straight(ref: Sequence[Signature]) -> bool:
    """Whether most frames change as the frame before did, as in blends of two pictures and in fades.

    There, a frame that an encoder has coded in part looks like an earlier frame.
    """
    if len(ref) < 3:
        return False
    once, twice = errors(ref[:-2], ref[1:], 2).T
    moving = once > _STIRS
    return bool(moving.any() and np.median(twice[moving] / once[moving]) >= _STRAIGHT)


def usual_motion(ref: Sequence[Signature]) -> Figures:
    """For each reference frame: the median squared change from frame to frame around it, where it moves."""
    changes = errors(ref[:-1], ref[1:], 1)[:, 0]
    motion = np.zeros(len(ref))
    for frame in range(len(ref)):
        near = changes[max(frame - _STRETCH, 0) : frame + _STRETCH]
        near = near[near > _STIRS]
        motion[frame] = np.median(near) if len(near) else 0.0
    return motion


def contradicted(error: Figures, path: NDArray[np.intp], clearly: float = _CONTRADICTED) -> bool:
    """Whether other frames of the reference fit clearly better than those of a path, anywhere."""
    frames = np.flatnonzero(path >= 0)
    if not len(frames):
        return True
    size = min(_WINDOW, len(frames))
    own, least = (
        np.convolve(values, np.ones(size), "valid") + size * FLOOR
        for values in (error[frames, path[frames]], error[frames].min(axis=1))
    )
    return bool((own > clearly * least).any())


def correlation(one: Signature, other: Signature) -> float:
    """The correlation of two pictures; 1 where both are flat."""
    parts = one - one.mean(), other - other.mean()
    spread = [float(np.square(part).mean()) for part in parts]
    if max(spread) < FLAT:
        return 1.0
    return float((parts[0] * parts[1]).mean() / max(spread[0] * spread[1], FLAT) ** 0.5)
