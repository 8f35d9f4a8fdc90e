"""The frames of a reference that a distorted video shows, found for the whole clip by dynamic programming."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.arrays import np
from acuity.records import NamedTuple
from acuity.video.alignment.doubts import doubts
from acuity.video.alignment.matching import (
    MOST,
    Figures,
    contradicted,
    errors,
    frame_costs,
    fresh_errors,
    goes_straight,
    hidden_frames,
    is_hidden,
    motion_seen,
    usual_motion,
)
from acuity.video.alignment.rules import Regular, expected_steps, has_gaps, rules, timed_path
from acuity.video.picture import Signature

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

# Frames of the distorted video that are solved together, how many of the last of them are solved again with
# the next ones, and how many frames of the reference may be lost among them.
BLOCK: Final = 400
_AHEAD: Final = 150
FAR: Final = 200
_PACE: Final = 4.0  # frames of the reference for each of the distorted video, at most
_FAULT: Final = 12.0  # the cost of frames that are lost, or too many
_LEAST_FAULT: Final = 2.5  # where the lengths say that there are many
_UNTIMED: Final = 30.0  # the cost of a step that presentation times of a variable rate contradict
_EACH: Final = 0.05  # the cost of each frame that is lost or too many
_RULE: Final = 3.0  # a rule is likelier than as many single faults unless it costs this many times more
# Pictures contradict presentation times if the path by pictures costs so much less; where its errors are
# hardly less, only if it costs far less.
_BETTER: Final = 1.5
_FAR_BETTER: Final = 4.0
_HARDLY: Final = 1.17
_HIDDEN_SAYS: Final = 0.05  # what costs are multiplied by where frames can't be told apart
# A frame shows something else if the error of its best match is so many times the median, and this much more.
_FOREIGN: Final = 20.0
_FOREIGN_ERROR: Final = 200.0


Places: TypeAlias = "NDArray[np.intp]"  # frames of the reference


@dataclass(slots=True)
class Frames:
    """Signatures of frames in a row, with their presentation times; the first has the number `first`."""

    first: int = 0
    signatures: list[Signature] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.signatures)

    def drop(self, count: int) -> None:
        del self.signatures[:count], self.times[:count]
        self.first += count


class Costs(NamedTuple):
    """What each kind of step from one frame to the next costs."""

    lost: float
    extra: float

    @classmethod
    def expecting(cls, more: int, frames: int, *, timed: bool) -> Costs:
        """The costs where the reference has `more` frames more than the other video (negative: fewer)."""
        usual = _UNTIMED if timed else _FAULT
        if not more or timed:
            return cls(usual, usual)
        likely = min(max(1.5 + math.log(max(frames, 1) / abs(more)), _LEAST_FAULT), _FAULT)
        return cls(likely, _FAULT) if more > 0 else cls(_FAULT, likely)


class _Step(NamedTuple):
    """The last step of the best paths to a frame of the distorted video, by frame of the reference."""

    origin: Places  # of a match: the place matched before it
    after_extra: NDArray[np.bool_]  # whether the frame before was left out, after a match with that place
    first_extra: NDArray[np.bool_]  # of a frame that is left out: whether the frame before it was matched


def best_path(
    cost: Figures,
    costs: Costs,
    first: Sequence[int] = (0,),
    steps: Sequence[Places] | None = None,
    foreign: NDArray[np.bool_] | None = None,
    *,
    ends: bool,
) -> tuple[Places, float]:
    """For each frame the frame of the reference that it shows, or -1 if it is one too many; and the cost.

    The first frame may show one of `first` at no cost; `steps` are those of expected_steps(), None: each by
    one. `foreign` frames show nothing of the reference. With `ends` both videos end with the block.
    """
    all_matched, left_out, taken = _sweep(cost, costs, first, steps, foreign)
    matched = all_matched[-1]
    if ends:
        beyond = np.r_[costs.lost + _EACH * np.arange(cost.shape[1], 0, -1), 0.0]
        matched, left_out = matched + beyond, left_out + beyond
    return _traced(matched, left_out, taken)


def surplus(
    cost: Figures, costs: Costs, first: Sequence[int], foreign: NDArray[np.bool_], *, ends: bool
) -> Figures:
    """For each frame and each frame of the reference: how much more the best path through both costs than
    the best path of all.
    """
    count = cost.shape[1]
    there, _, _ = _sweep(cost, costs, first, None, foreign)
    back, _, _ = _sweep(cost[::-1, ::-1], costs, (0,) if ends else range(count), None, foreign[::-1])
    through = there[:, 1:] + back[::-1, :0:-1] - cost
    return np.asarray(through - through.min())


def _sweep(
    cost: Figures,
    costs: Costs,
    first: Sequence[int],
    steps: Sequence[Places] | None,
    foreign: NDArray[np.bool_] | None,
) -> tuple[Figures, Figures, list[_Step]]:
    """The cost of the best path that matches each frame with each place, that of one which leaves the last
    frame out after a match with that place, and how the paths came there; place 0 is before the block.
    """
    count = cost.shape[1]
    places = np.arange(count + 1)
    matched, left_out = np.full(count + 1, np.inf), np.full(count + 1, np.inf)
    matched[0] = 0.0
    all_matched = np.empty((len(cost), count + 1))
    taken: list[_Step] = []
    for frame, row in enumerate(cost):
        after_extra = left_out < matched
        best = np.where(after_extra, left_out, matched)
        if frame == 0:
            arrive, origin = np.full(count, np.inf), np.zeros(count, np.intp)
            arrive[list(first)] = 0.0
        elif steps is None:  # on to the next frame, at no cost
            arrive, origin = best[:-1].copy(), places[:-1].copy()
        else:
            follows = steps[frame - 1]
            known = follows < count
            follows, before = follows[known], best[1:][known]
            arrive, origin = np.full(count, np.inf), np.zeros(count, np.intp)
            np.minimum.at(arrive, follows, before)
            right = before == arrive[follows]
            origin[follows[right]] = places[1:][known][right]
        flat = best - _EACH * places  # over frames that are lost
        least = np.minimum.accumulate(flat)
        where = np.maximum.accumulate(np.where(flat == least, places, 0))
        jump = least[:-1] + _EACH * places[:-1] + costs.lost
        jumps = jump < arrive
        origin = np.where(jumps, where[:-1], origin)
        first_extra = matched + costs.extra <= left_out + _EACH
        # A frame that is one too many looks like the one before or after it, or like nothing.
        likeness = np.minimum(np.r_[row[0], row], np.r_[row, row[-1]])
        if foreign is not None and foreign[frame]:
            likeness = np.zeros_like(likeness)
        left_out = np.where(first_extra, matched + costs.extra, left_out + _EACH) + likeness
        matched = np.r_[np.inf, np.where(jumps, jump, arrive) + row]
        all_matched[frame] = matched
        taken.append(_Step(origin, after_extra, first_extra))
    return all_matched, left_out, taken


def _traced(matched: Figures, left_out: Figures, taken: Sequence[_Step]) -> tuple[Places, float]:
    """The path that costs least, from its end to its start, and what it costs."""
    total = float(min(left_out.min(), matched.min()))
    skipped = bool(left_out.min() < matched.min())
    place = int((left_out if skipped else matched).argmin())
    path = np.full(len(taken), -1, np.intp)
    for frame in range(len(taken) - 1, -1, -1):
        step = taken[frame]
        if skipped:
            skipped = not step.first_extra[place]
            continue
        path[frame] = place - 1
        place = int(step.origin[place - 1])
        skipped = bool(step.after_extra[place])
    return path, total


class Solver:
    """Finds which frames match, block by block, as the frames of both videos come."""

    def __init__(self, *, timed: bool, gaps: bool = False) -> None:
        self._costs = Costs.expecting(0, 0, timed=timed)
        self._rules: list[Fraction] = []
        self._pace = 1.0  # frames of the reference for each of the distorted video
        self._timed = timed  # whether the frame rate varies, so that times tell which frames are missing
        self._gaps = gaps  # whether it varies from the first gap in the distorted video's times on
        self.ref, self.dis = Frames(), Frames()  # those that are not decided yet
        self.by_pictures = not timed  # whether pictures alone told the last block's frames
        # The first frame of the last block, and which of its frames can't be told from those beside them.
        self._untold: tuple[int, NDArray[np.bool_]] = (0, np.zeros(0, bool))
        self.foreign = False  # whether any frame shows nothing of the reference
        self.straight = True  # whether pictures allow that frame n is frame n, in all blocks so far
        self.motion = 0.0  # of the reference in the last block
        self.hides = False  # whether a late frame can't be seen in the last block
        self.hidden = False  # whether its frames can't be told apart
        self._first: Sequence[int] = (0,)
        self._before: tuple[float | None, float | None] = (None, None)  # times of the last match

    @property
    def wants(self) -> tuple[int, int]:
        """How many frames of the reference and of the distorted video a block needs."""
        return round(BLOCK * self._pace) + FAR, BLOCK

    def cannot_tell(self, frame: int) -> bool:
        """Whether a frame of the last block can't be told from those beside it, and times say nothing."""
        first, untold = self._untold
        return bool(untold[frame - first])

    def begin(self, first: Sequence[int], ref: int | None, dis: int | None) -> None:
        """Say which frames of the reference the other video may begin with, and how many frames both have."""
        self._first = first
        if ref is not None and dis is not None:
            self._costs = Costs.expecting(ref - dis, dis, timed=self._timed)
            self._rules = [] if self._timed else rules(ref, dis)
            self._pace = min(max(ref / max(dis, 1), 1.0), _PACE)

    def solve(self, *, over: bool, ends: bool) -> Iterator[tuple[int, int, float]]:
        """(frame of the distorted video, frame of the reference or -1, doubt) of the frames that are decided.

        `over`: no more frames of the distorted video will come; `ends`: nor of the reference.
        """
        if not len(self.dis) or not len(self.ref):
            for frame in range(len(self.dis)):
                yield self.dis.first + frame, -1, 0.0
            self.dis.drop(len(self.dis))
            return
        if not self._timed and self._gaps and has_gaps(self.dis.times):
            self._timed, self._rules = True, []
            self._costs = Costs.expecting(0, 0, timed=True)
        error = errors(self.dis.signatures, self.ref.signatures)
        steps = expected_steps(self.dis.times, self.ref.times) if self._timed else None
        motion = usual_motion(self.ref.signatures)
        self.motion = float(motion.mean())
        fresh = fresh_errors(self.dis.signatures, self.ref.signatures, error)
        straight = goes_straight(self.ref.signatures)
        cost = frame_costs(fresh, motion, straight=straight)
        least = error.min(axis=1)
        foreign = least > _FOREIGN * np.median(least) + _FOREIGN_ERROR
        cost[foreign] = MOST
        seen = motion_seen(fresh, self.ref.signatures)
        self.hidden = hidden = is_hidden(seen)
        cost[hidden_frames(seen)] *= _HIDDEN_SAYS
        path, total = best_path(cost, self._costs, self._first, steps, foreign, ends=ends)
        if self._timed:
            by_times = self._by_times(error, cost, total, hidden=hidden)
            self.by_pictures = by_times is None
            path = path if by_times is None else by_times
        self.hides = straight and self.by_pictures
        by_rules = [Regular.of(cost, error, rule) for rule in self._rules]
        regular = min(by_rules, key=lambda by: by.cost, default=None)
        self.foreign = self.foreign or bool(foreign.any())
        self.straight = self.straight and self._is_straight(error)
        if regular is not None and not (regular.often if hidden else regular.cost < _RULE * total):
            regular = None
        path = path if regular is None else regular.path
        told = not self.by_pictures or regular is not None
        self._untold = self.dis.first, hidden_frames(seen) & (not told)
        decided = len(path) if over else max(len(path) - _AHEAD, 1)
        if regular is not None:
            doubt = np.full(len(path), 0.0 if hidden else regular.doubt)
        elif self.by_pictures and self._expects_faults(path):
            costs = Costs.expecting(0, 0, timed=False) if self._timed else self._costs
            doubt = doubts(error, surplus(cost, costs, self._first, foreign, ends=ends), path)
        else:
            doubt = np.zeros(len(path))
        for frame, place in enumerate(path[:decided].tolist()):
            shown = -1 if place < 0 else self.ref.first + place
            yield self.dis.first + frame, shown, float(doubt[frame])
        if len(matches := np.flatnonzero(path[:decided] >= 0)):
            final = int(matches[-1])
            self._before = self.dis.times[final], self.ref.times[int(path[final])]
            self.ref.drop(int(path[final]) + 1)
        self.dis.drop(decided)
        self._first = (self._next_place(),)

    def _expects_faults(self, path: Places) -> bool:
        """Whether frames are missing or doubled in this block, or in another one."""
        lags = (path - np.arange(len(path)))[path >= 0]
        return self._costs.lost != self._costs.extra or bool((lags != lags[:1]).any())

    def _is_straight(self, error: Figures) -> bool:
        """Whether nothing contradicts that frames of the same number are the same."""
        path = np.arange(len(error)) + self.dis.first - self.ref.first
        path[(path < 0) | (path >= error.shape[1])] = -1
        return not contradicted(error, path)

    def _by_times(self, error: Figures, cost: Figures, total: float, *, hidden: bool) -> Places | None:
        """The path by presentation times; None if the pictures contradict it."""
        dis, ref = self._before
        mine, its = self.dis.times, self.ref.times
        starts = [(mine[0], its[place]) for place in self._first if place < len(its)]
        late = [a - b for a, b in ((dis, ref),) if a is not None and b is not None]
        late = late or [0.0, *(a - b for a, b in starts if a is not None and b is not None)]
        found = []
        for each in late:
            by_times = timed_path(mine, its, each)
            matched = np.flatnonzero(by_times >= 0)
            missing = np.minimum(cost.min(axis=1) + _UNTIMED, MOST)
            missing[matched] = cost[matched, by_times[matched]]
            spent = float(missing.sum())
            unlike = contradicted(error, by_times, _HARDLY)
            if not hidden and total < spent / (_BETTER if unlike else _FAR_BETTER):
                continue
            most = 2 * len(matched) > len(by_times)
            if spent < _RULE * total + _UNTIMED or (most and not contradicted(error, by_times, _RULE)):
                found.append((0.0 if hidden else spent, by_times))
        return min(found, key=lambda each: each[0])[1] if found else None

    def _next_place(self) -> int:
        """The place that the next frame should show, by presentation times where they tell it."""
        its = [time for time in self.ref.times if time is not None]
        dis, ref = self._before
        if not self._timed or dis is None or ref is None or not its or not self.dis.times:
            return 0
        now = self.dis.times[0]
        return 0 if now is None else int(np.abs(np.array(its) - (ref + now - dis)).argmin())
