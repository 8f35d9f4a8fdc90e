"""Divides bits among shots: each shot's curve of bits and scores gives one choice, at equal slopes.

A bit is best spent where it raises the score most. Along the convex hull of a shot's curve the gain of each
further bit falls, so the steps of all hulls together, steepest first, are the order in which bits are
spent: at any moment all shots stand at the same slope, and no other division of those bits has a higher
mean score.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acuity.errors import TuneError


class Choice(NamedTuple):
    """One quality that a shot may be encoded with."""

    quality: int
    bits: float  # of the whole shot
    score: float  # the mean of its frames; more is better


@dataclass(frozen=True, slots=True)
class Curve:
    """What a shot's qualities cost and give."""

    frames: int
    choices: tuple[Choice, ...]

    def __post_init__(self) -> None:
        if not self.choices or self.frames < 1:
            raise TuneError("a shot needs a frame and a measured encode before bits can be given to it")
        if not all(math.isfinite(value) for choice in self.choices for value in choice[1:]):
            raise TuneError("a shot has a score or a size that is not a number, so bits can't be given to it")


@dataclass(frozen=True, slots=True)
class Allocation:
    """One choice for each shot."""

    choices: tuple[Choice, ...]
    bits: float
    score: float  # the mean over all frames
    slope: float | None  # points of the clip's mean that the last megabit gave; None: nothing was divided
    met: bool  # whether the target or the budget is met


def hull(choices: Sequence[Choice]) -> list[Choice]:
    """The choices on the upper convex hull, by rising bits: scores rise, and gains a bit fall."""
    kept: list[Choice] = []
    for choice in sorted(choices, key=lambda one: (one.bits, -one.score)):
        if kept and choice.score <= kept[-1].score:
            continue  # it costs no less than one that is as good
        while len(kept) > 1 and _slope(kept[-2], kept[-1]) <= _slope(kept[-1], choice):
            kept.pop()
        kept.append(choice)
    return kept


def most_for_each(curves: Sequence[Curve], target: float) -> Allocation:
    """The fewest bits with which each shot alone meets the target; the best there is where none does."""
    chosen = []
    for curve in curves:
        able = [choice for choice in curve.choices if choice.score >= target]
        if able:
            chosen.append(min(able, key=lambda choice: (choice.bits, -choice.score)))
        else:
            chosen.append(max(curve.choices, key=lambda choice: (choice.score, -choice.bits)))
    return _allocation(curves, chosen, None, all(choice.score >= target for choice in chosen))


def least_bits(curves: Sequence[Curve], target: float) -> Allocation:
    """The fewest bits with which the mean over all frames meets the target."""
    walk = _Walk(curves)
    while walk.score < target and walk.step():
        pass
    if walk.score < target:
        return _allocation(curves, walk.chosen, walk.slope, False)

    def cheaper(shot: int, choice: Choice) -> float | None:
        now = walk.chosen[shot]
        score = walk.score + (choice.score - now.score) * curves[shot].frames / walk.frames
        return now.bits - choice.bits if score >= target else None

    walk.polish(cheaper)
    return _allocation(curves, walk.chosen, walk.slope, True)


def best_score(curves: Sequence[Curve], bits: float) -> Allocation:
    """The highest mean score over all frames that the budget buys."""
    walk = _Walk(curves)
    if walk.bits > bits:
        return _allocation(curves, walk.chosen, walk.slope, False)
    while walk.step(bits):
        pass

    def better(shot: int, choice: Choice) -> float | None:
        now = walk.chosen[shot]
        gain = (choice.score - now.score) * curves[shot].frames
        return gain if walk.bits + choice.bits - now.bits <= bits else None

    walk.polish(better)
    return _allocation(curves, walk.chosen, walk.slope, True)


class _Walk:
    """The way up along all hulls, the steepest step first."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        if not curves:
            raise TuneError("there is no shot to give bits to")
        self._curves = curves
        self._hulls = [hull(curve.choices) for curve in curves]
        self._places = [0] * len(curves)
        self._steps: list[tuple[float, int]] = []  # by falling slope
        self.frames = sum(curve.frames for curve in curves)
        self.chosen = [steps[0] for steps in self._hulls]
        self.bits = math.fsum(choice.bits for choice in self.chosen)
        self.score = _mean(curves, self.chosen)
        self.slope: float | None = None
        for shot in range(len(curves)):
            self._offer(shot)

    def _choose(self, shot: int, choice: Choice) -> None:
        # The totals are kept, because summing up a film's shots for every step takes long.
        now = self.chosen[shot]
        self.bits += choice.bits - now.bits
        self.score += (choice.score - now.score) * self._curves[shot].frames / self.frames
        self.chosen[shot] = choice

    def _offer(self, shot: int) -> None:
        steps, place = self._hulls[shot], self._places[shot]
        if place + 1 < len(steps):
            slope = _slope(steps[place], steps[place + 1]) * self._curves[shot].frames
            heapq.heappush(self._steps, (-slope, shot))

    def step(self, budget: float = math.inf) -> bool:
        """Take the steepest step within the budget; False if there is none."""
        while self._steps:
            slope, shot = heapq.heappop(self._steps)
            choice = self._hulls[shot][self._places[shot] + 1]
            if self.bits + choice.bits - self.chosen[shot].bits > budget:
                continue  # the steps of other shots may be smaller
            self._places[shot] += 1
            self._choose(shot, choice)
            self.slope = -slope / self.frames * 1e6
            self._offer(shot)
            return True
        return False

    def polish(self, gain: Callable[[int, Choice], float | None]) -> None:
        """Make the exchange of one shot's choice that gains most, for as long as one gains.

        The steps of a hull are coarse: the last one overshoots a target or doesn't fit a budget, and a choice
        beside the hull may.
        """
        while True:
            exchanges = [
                (gained, shot, choice)
                for shot, curve in enumerate(self._curves)
                for choice in curve.choices
                if (gained := gain(shot, choice)) is not None and gained > 1e-9
            ]
            if not exchanges:
                return
            _, shot, choice = max(exchanges, key=lambda exchange: exchange[0])
            self._choose(shot, choice)


def _slope(low: Choice, high: Choice) -> float:
    """The gain a bit between two choices."""
    return (high.score - low.score) / (high.bits - low.bits) if high.bits > low.bits else math.inf


def _mean(curves: Sequence[Curve], chosen: Sequence[Choice]) -> float:
    weighted = (choice.score * curve.frames for curve, choice in zip(curves, chosen, strict=True))
    return math.fsum(weighted) / sum(curve.frames for curve in curves)


def _allocation(
    curves: Sequence[Curve], chosen: Sequence[Choice], slope: float | None, met: bool
) -> Allocation:
    return Allocation(
        tuple(chosen), math.fsum(choice.bits for choice in chosen), _mean(curves, chosen), slope, met
    )
