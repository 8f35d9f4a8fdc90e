"""Sweep: decides which sizes and qualities are encoded for a ladder, and which need not be.

A sweep of the whole grid would encode much that no ladder uses. Three things are known of any encoder, and
each rules out samples once a neighbour is measured:

    range        a size that reaches the highest target isn't needed in better quality,
                 and one that misses the lowest isn't needed in worse
    crossing     the curves of two sizes cross once: where a larger size is better at some bitrate, it is
    better at
                 all higher ones, and where a smaller size is better, it is at all lower ones
    saturation   a step in quality gains less the better the quality is already

After the grid, samples between and beyond its values are made until both ends of the ladder are at their
targets, as near as the encoder's steps allow, or nothing is left that could come nearer. Then a few more
bring samples to where rungs are wanted between the ends. Nothing here encodes. Qualities are steps: 0 is the
encoder's best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from acuity.tune.ladder.rungs import (
    NEAR,
    RungChoice,
    convex_hull,
    ends,
    even,
    near_hull,
    score_at,
    select_rungs,
)

Size = tuple[int, int]

CLOSE: Final = 0.5  # VMAF above a target that is near enough
# VMAF from which on a step gains less than the one before; below, curves are S-shaped.
_SATURATES: Final = 50.0
_OFF: Final = 0.25  # how far a sample may be from a rung's place, as a part of the distance of two rungs
_FALLING: Final = 1.5  # steps to take for each that a constant slope would need: slopes fall
_REACH: Final = 2  # times the distance of the last two samples: the farthest step beyond them
_PART: Final = 0.6  # of the whole grid's encodes, for each target: the most that are made
_ROUNDS: Final = 4  # of samples between those of the grid; those towards a target are halved after so many


class MeasuredPoint(NamedTuple):
    size: Size
    step: int
    bitrate_kbps: float
    vmaf: float


class Wish(NamedTuple):
    size: Size
    step: int


class Sweep:
    """Asks for samples, round by round, until the hull between the targets is known."""

    def __init__(
        self,
        sizes: Sequence[Size],
        grid: Sequence[int],
        wanted: RungChoice,
        *,
        first_step: int = 0,
        last_step: int | None = None,
    ) -> None:
        """`last_step` is the worst step, or the grid's."""
        self._sizes = sorted(set(sizes), key=lambda size: (size[0] * size[1], size))
        self._grid = sorted(set(grid))
        self._first_step = first_step
        self._last_step = self._grid[-1] if last_step is None else last_step
        self._wanted = wanted
        self._targets = wanted.targets
        all_of_grid, different = len(self._sizes) * len(self._grid), len(set(wanted.targets))
        # The most samples in all, if those of the grid and of the ends leave some of it.
        self._budget = int(_PART * all_of_grid * different) if different > 1 else all_of_grid
        self._rounds = {"ends": 0, "places": 0}
        self._known: dict[Size, dict[int, MeasuredPoint]] = {size: {} for size in self._sizes}
        self._tried: set[Wish] = set()

    @property
    def measured(self) -> list[MeasuredPoint]:
        return [sample for steps in self._known.values() for sample in steps.values()]

    def add(self, size: Size, step: int, bitrate_kbps: float, vmaf: float) -> None:
        """Add the figures of a sample; samples that failed are not added."""
        self._known[size][step] = MeasuredPoint(size, step, bitrate_kbps, vmaf)

    def next(self) -> list[Wish]:
        """The samples to make now, side by side; none when there is nothing more to learn."""
        found = (self._next_of(size) for size in self._sizes)
        wishes = [wish for wish in found if wish is not None]
        hull = convex_hull(self.measured)
        if not wishes and hull:
            self._rounds["ends"] += 1
            both = dict.fromkeys((max(self._targets), min(self._targets)))
            wishes = self._new(self._towards_target(hull, target) for target in both)
            if not wishes and self._rounds["places"] < _ROUNDS:
                self._rounds["places"] += 1
                left = max(self._budget - len(self._tried), 0)
                wishes = self._new(self._towards_places(hull))[:left]
        self._tried.update(wishes)
        return wishes

    # The grid ---------------------------------------------------------------------------------------------

    def _next_of(self, size: Size) -> Wish | None:
        """The next sample of a size: the middle of the grid first, then outwards, towards the targets."""
        left = [step for step in self._grid if Wish(size, step) not in self._tried]
        known = self._known[size]
        if not known:
            middle = self._grid[len(self._grid) // 2]
            return Wish(size, min(left, key=lambda step: abs(step - middle))) if left else None
        left = [step for step in left if not self._ruled_out(size, step)]
        if not left:
            return None
        centre = (max(self._targets) + min(self._targets)) / 2
        nearest = min(known.values(), key=lambda sample: abs(sample.vmaf - centre))
        better = nearest.vmaf < centre
        # The nearest that is left on the wanted side, else on the other.
        return Wish(
            size, min(left, key=lambda step: ((step < nearest.step) != better, abs(step - nearest.step)))
        )

    def _ruled_out(self, size: Size, step: int) -> bool:
        """Whether a sample can't matter for the hull between the targets."""
        worse = [sample for sample in self._known[size].values() if sample.step > step]
        better = [sample for sample in self._known[size].values() if sample.step < step]
        high, low = max(self._targets), min(self._targets)
        several = len(set(self._targets)) > 1  # a single target is the top, and the ladder has no lower end
        return (
            any(sample.vmaf >= high or self._beaten(sample, larger=True) for sample in worse)
            or any((several and sample.vmaf < low) or self._beaten(sample, larger=False) for sample in better)
            or (several and self._saturated(size, step, low))
        )

    def _beaten(self, sample: MeasuredPoint, *, larger: bool) -> bool:
        """Whether other sizes, the larger or the smaller ones, are better at a sample's bitrate."""
        area = sample.size[0] * sample.size[1]
        others = [
            other
            for size, steps in self._known.items()
            if (size[0] * size[1] > area if larger else size[0] * size[1] < area)
            for other in steps.values()
        ]
        at = score_at(convex_hull(others), sample.bitrate_kbps)
        return at is not None and at >= sample.vmaf

    def _saturated(self, size: Size, step: int, low: float) -> bool:
        """Whether a size is so far below the lowest target that this step can't reach it."""
        known = sorted(self._known[size].values(), key=lambda sample: sample.step)
        if len(known) < 2 or known[0].step < step or known[0].vmaf < _SATURATES:
            return False
        gain = (known[0].vmaf - known[1].vmaf) / (known[1].step - known[0].step)
        return known[0].vmaf + gain * (known[0].step - step) < low

    # Between the values of the grid -----------------------------------------------------------------------

    def _new(self, wishes: Iterable[Wish | None]) -> list[Wish]:
        return list(dict.fromkeys(wish for wish in wishes if wish is not None and wish not in self._tried))

    def _towards_target(self, hull: Sequence[MeasuredPoint], target: float) -> Wish | None:
        """A sample that exceeds a target by less than the hull's does."""
        reaching = next((sample for sample in hull if sample.vmaf >= target), None)
        if reaching is None:
            return self._beyond(hull[-1], target)
        if reaching.vmaf - target <= CLOSE:
            return None
        worse = [sample for sample in self._known[reaching.size].values() if sample.step > reaching.step]
        if not worse:
            return self._below(reaching, target)
        short = min(worse, key=lambda sample: sample.step)
        if short.vmaf >= target:  # cheaper and good enough, but under the hull
            return None
        part = (reaching.vmaf - target) / (reaching.vmaf - short.vmaf)
        if self._rounds["ends"] > _ROUNDS:
            part = 0.5
        step = reaching.step + math.floor(part * (short.step - reaching.step))
        return self._unless_known(reaching.size, step, reaching.step, short.step)

    def _beyond(self, best: MeasuredPoint, target: float) -> Wish | None:
        """A sample of better quality than the grid's, if it may reach the target."""
        known = sorted(self._known[best.size].values(), key=lambda sample: sample.step)
        if known[0] != best:
            return None
        span, slope = self._slope(known)
        needed = span if slope is None else (target - best.vmaf) / max(slope, 1e-9)
        if needed > best.step - self._first_step and best.vmaf >= _SATURATES:
            return None  # even at this slope, which falls, there aren't enough steps
        steps = math.ceil(min(_FALLING * needed, _REACH * span))
        step = max(self._first_step, best.step - max(1, steps))
        return Wish(best.size, step) if step < best.step else None

    def _below(self, reaching: MeasuredPoint, target: float) -> Wish | None:
        """A sample of worse quality than the grid's, for a target that all samples of its size reach."""
        known = sorted(self._known[reaching.size].values(), key=lambda sample: -sample.step)
        span, slope = self._slope(known)
        steps = min((reaching.vmaf - target) / slope, _REACH * span) if slope and slope > 0 else _REACH * span
        step = min(self._last_step, reaching.step + max(1, math.floor(steps)))
        return Wish(reaching.size, step) if step > reaching.step else None

    def _slope(self, known: Sequence[MeasuredPoint]) -> tuple[int, float | None]:
        """The steps between the first two of a size's samples, and what a step gains there if it is known."""
        if len(known) < 2:
            return max(1, (self._grid[-1] - self._grid[0]) // max(1, len(self._grid) - 1)), None
        span = abs(known[1].step - known[0].step)
        return span, abs(known[0].vmaf - known[1].vmaf) / span

    def _towards_places(self, hull: Sequence[MeasuredPoint]) -> list[Wish | None]:
        """Samples at the even places between the ends that no sample of the hull is near to."""
        bottom, top = (hull[end] for end in ends(hull, self._targets))
        count, place, least = self._wanted.count, self._wanted.place, self._wanted.min_step
        count = min(count, 1 + int((top.vmaf - bottom.vmaf) / least)) if least else count
        if count < 3:
            return []
        chosen = select_rungs(hull, self._wanted)
        served = near_hull(self.measured, NEAR) if len(chosen.rungs) < self._wanted.count else hull
        goals = even(place(bottom), place(top), count)
        allowed = _OFF * (goals[1] - goals[0])
        wishes: list[Wish | None] = []
        for goal in goals[1:-1]:
            if min(abs(place(sample) - goal) for sample in served) <= allowed:
                continue
            low, high = next(pair for pair in pairwise(hull) if place(pair[1]) >= goal)
            nearer = (low, high) if goal - place(low) <= place(high) - goal else (high, low)
            found = (self._at(sample.size, goal) for sample in nearer)
            wishes.append(next((wish for wish in found if wish is not None), None))
        return wishes

    def _at(self, size: Size, goal: float) -> Wish | None:
        """A sample of a size at a place, by the size's own curve."""
        place = self._wanted.place
        known = sorted(self._known[size].values(), key=lambda sample: sample.step)
        for better, worse in pairwise(known):
            if place(worse) <= goal <= place(better) and place(worse) < place(better):
                part = (place(better) - goal) / (place(better) - place(worse))
                step = round(better.step + part * (worse.step - better.step))
                return self._unless_known(size, step, better.step, worse.step)
        return None

    def _unless_known(self, size: Size, step: int, first: int, last: int) -> Wish | None:
        """The sample strictly between two others, if there is a step left there."""
        low, high = sorted((first, last))
        return None if high - low < 2 else Wish(size, min(max(step, low + 1), high - 1))
