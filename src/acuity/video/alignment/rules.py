"""Rules: which frames match by the numbers of frames and by presentation times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.arrays import np
from acuity.video.alignment.doubts import points_apart
from acuity.video.alignment.matching import Figures

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

_GAP: Final = 1.5  # usual steps between presentation times from which on a frame is missing
# A regular loss or doubling is that of one frame in at most so many, at least so often.
_PERIOD: Final = 30
_TIMES: Final = 3
# Where pictures tell nothing, a rule is believed if it leaves out one frame in so few, and so often.
_HIDDEN_PERIOD: Final = 10
_HIDDEN_TIMES: Final = 10
# Another phase of a rule is possible unless each frame that it moves costs so much more, on average. If it is
# possible, the points by which the scores differ are a doubt: at most the second figure, worth a warning.
_FRAME_CERTAIN: Final = 3.0
_LITTLE: Final = 0.1
# But encoders mostly code every fourth frame well, and make the frames between move evenly, as if one were
# missing among them. So the doubt isn't limited where a frame seems to be missing in such a group, or where
# the other phase costs so little more.
_GROUP: Final = 4
_PHASE_CERTAIN: Final = 20.0


def expected_steps(dis: Sequence[float | None], ref: Sequence[float | None]) -> list[NDArray[np.intp]] | None:
    """For each frame of the distorted video after the first: which frame should follow each frame of the
    reference, by presentation times; None if some have no time.
    """
    if None in dis or None in ref:
        return None
    mine, its = np.array(dis, np.float64), np.array(ref, np.float64)
    middles = (its[1:] + its[:-1]) / 2
    next_one = np.arange(1, len(its) + 1)
    return [np.maximum(np.searchsorted(middles, its + step), next_one) for step in np.diff(mine)]


def has_gaps(times: Sequence[float | None]) -> bool:
    """Whether some frames of an even rate are missing, by presentation times."""
    known = [time for time in times if time is not None]
    steps = np.diff(known)
    return len(known) == len(times) and bool((steps > _GAP * np.median(steps)).any()) if len(steps) else False


def timed_path(dis: Sequence[float | None], ref: Sequence[float | None], late: float) -> NDArray[np.intp]:
    """The frame of the reference at the time of each frame of the other video less `late`; -1: none, or one
    that was shown already.
    """
    path = np.full(len(dis), -1, np.intp)
    if None in dis or None in ref or len(ref) < 2:
        return path
    its, mine = np.array(ref, np.float64), np.array(dis, np.float64) - late
    place = np.searchsorted((its[1:] + its[:-1]) / 2, mine)
    near = np.abs(its[place] - mine) < np.median(np.diff(its)) / 2
    fresh = np.r_[True, place[1:] > np.maximum.accumulate(np.where(near, place, -1))[:-1]]
    path[near & fresh] = place[near & fresh]
    return path


def rules(ref: int, dis: int) -> list[Fraction]:
    """Frames of the reference for each of the other video, by which its length comes of regular losses or
    doublings alone; none if there are few of them.
    """
    from fractions import Fraction  # few runs need it

    if min(ref, dis) < 1 or abs(ref - dis) < _TIMES:
        return []
    near = {Fraction(ref, dis).limit_denominator(most) for most in range(1, _PERIOD + 1)}
    return sorted(rule for rule in near if rule > 0 and abs(dis * rule - ref) <= max(rule, Fraction(1)))


class Regular(NamedTuple):
    """A path by a rule, at its best phase."""

    path: NDArray[np.intp]
    cost: float  # of its matches
    doubt: float  # points by which the mean score may differ at another phase that is possible
    often: bool  # whether it is a short rule, and holds many times

    @classmethod
    def of(cls, cost: Figures, error: Figures, rule: Fraction) -> Regular:
        ref, dis, last = rule.numerator, rule.denominator, cost.shape[1] - 1
        frames = np.arange(len(cost))
        paths = [(frames * ref + phase) // dis for phase in range(min(ref - dis, 0), max(ref, dis))]
        known = frames[paths[-1] <= last]  # in each of them
        costs = [cost[known, np.maximum(path[known], 0)] for path in paths]
        best = min(range(len(paths)), key=lambda one: float(costs[one].sum()))
        path, mine = paths[best], costs[best]
        own = error[known, np.maximum(path[known], 0)]
        inside = bool(((np.flatnonzero(np.diff(path) != 1) + 1) % _GROUP).any())
        doubt = 0.0
        for other, each in zip(paths, costs, strict=True):
            more = float(each.sum() - mine.sum())
            points = float(points_apart(error[known, np.maximum(other[known], 0)], own).mean())
            if dis % _GROUP or not (inside or more < _PHASE_CERTAIN):
                points = min(points, _LITTLE)
            if more < _FRAME_CERTAIN * np.count_nonzero(path[known] != other[known]):
                doubt = max(doubt, points)
        again = np.r_[False, path[1:] == path[:-1]]
        path = np.where((path <= last) & ~again, path, -1)
        often = max(ref, dis) <= _HIDDEN_PERIOD and len(cost) * abs(ref - dis) >= _HIDDEN_TIMES * dis
        return cls(path, float(mine.sum()), doubt, often)
