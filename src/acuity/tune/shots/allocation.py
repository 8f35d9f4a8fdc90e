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
from typing import Final, NamedTuple

from acuity.errors import TuneError
from acuity.scoring.bd_rate import convex_hull


class ShotChoice(NamedTuple):
    quality: float
    bits: float  # of the whole shot
    score: float  # the mean of its frames; more is better


@dataclass(frozen=True, slots=True)
class Curve:
    frames: int
    choices: tuple[ShotChoice, ...]

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for choice in self.choices for value in choice[1:]):
            raise TuneError("a shot has a score or a size that is not a number, so bits can't be given to it")


def mean_score(curves: Sequence[Curve], chosen: Sequence[ShotChoice]) -> float:
    weighted = (choice.score * curve.frames for curve, choice in zip(curves, chosen, strict=True))
    return math.fsum(weighted) / sum(curve.frames for curve in curves)


_GAIN: Final = 1e-9  # the least gain that counts; smaller ones are rounding


@dataclass(frozen=True, slots=True)
class Allocation:
    choices: tuple[ShotChoice, ...]
    bits: float
    score: float  # the mean over all frames
    slope: float | None  # points of the clip's mean that the last megabit gave; None: nothing was divided
    met: bool  # whether the target or the budget is met


def least_bits(curves: Sequence[Curve], target: float) -> Allocation:
    """The fewest bits with which the mean over all frames meets the target."""
    walk = _Walk(curves)
    while walk.score < target and walk.step():
        pass
    if met := walk.score >= target:
        walk.polish(
            lambda shot, now, then: (now.bits - then.bits, (now.score - then.score) * curves[shot].frames),
            lambda: (walk.score - target) * walk.frames,
        )
    return walk.allocation(met)


def best_score(curves: Sequence[Curve], bits: float) -> Allocation:
    """The highest mean score over all frames that the budget buys."""
    walk = _Walk(curves)
    if met := walk.bits <= bits:
        while walk.step(bits):
            pass
        walk.polish(
            lambda shot, now, then: ((then.score - now.score) * curves[shot].frames, then.bits - now.bits),
            lambda: bits - walk.bits,
        )
    return walk.allocation(met)


class _Walk:
    """The way up along all hulls, the steepest step first."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self._curves = curves
        self._hulls = [convex_hull(curve.choices, lambda choice: choice[1:]) for curve in curves]
        self._places = [0] * len(curves)
        self._steps: list[tuple[float, int]] = []  # by falling slope
        self.frames = sum(curve.frames for curve in curves)
        self.chosen = [steps[0] for steps in self._hulls]
        self.bits = math.fsum(choice.bits for choice in self.chosen)
        self.score = mean_score(curves, self.chosen)
        self.slope: float | None = None
        for shot in range(len(curves)):
            self._offer(shot)

    def _choose(self, shot: int, choice: ShotChoice) -> None:
        # The totals are kept, because summing up a film's shots for every step takes long.
        now = self.chosen[shot]
        self.bits += choice.bits - now.bits
        self.score += (choice.score - now.score) * self._curves[shot].frames / self.frames
        self.chosen[shot] = choice

    def _offer(self, shot: int) -> None:
        steps, place = self._hulls[shot], self._places[shot]
        if place + 1 < len(steps):
            low, high = steps[place], steps[place + 1]
            slope = (high.score - low.score) / (high.bits - low.bits) * self._curves[shot].frames
            heapq.heappush(self._steps, (-slope, shot))

    def step(self, budget: float = math.inf) -> bool:
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

    def polish(
        self, worth: Callable[[int, ShotChoice, ShotChoice], tuple[float, float]], left: Callable[[], float]
    ) -> None:
        """Exchange the choice of one shot for as long as that gains.

        The steps of a hull are coarse: the last one overshoots a target or doesn't fit a budget. `worth` says
        what an exchange gains and needs, `left` what there is to spend.
        """
        while True:
            best, found = _GAIN, None
            for shot, curve in enumerate(self._curves):
                for choice in curve.choices:
                    gain, need = worth(shot, self.chosen[shot], choice)
                    if gain > best and need <= left():
                        best, found = gain, (shot, choice)
            if found is None:
                return
            self._choose(*found)

    def allocation(self, met: bool) -> Allocation:
        """The choices as they stand, with totals that no rounding has added up in."""
        bits = math.fsum(choice.bits for choice in self.chosen)
        return Allocation(tuple(self.chosen), bits, mean_score(self._curves, self.chosen), self.slope, met)
