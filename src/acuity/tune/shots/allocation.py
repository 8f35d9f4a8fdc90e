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

import numpy as np

from acuity.errors import TuneError
from acuity.scoring.bd_rate import convex_hull, pareto


class Choice(NamedTuple):
    """One quality that a shot may be encoded with."""

    quality: float
    bits: float  # of the whole shot
    score: float  # the mean of its frames; more is better


@dataclass(frozen=True, slots=True)
class Curve:
    """What a shot's qualities cost and give."""

    frames: int
    choices: tuple[Choice, ...]

    def __post_init__(self) -> None:
        if not all(math.isfinite(value) for choice in self.choices for value in choice[1:]):
            raise TuneError("a shot has a score or a size that is not a number, so bits can't be given to it")


def _place(choice: Choice) -> tuple[float, float]:
    return choice.bits, choice.score


def gain_a_bit(low: Choice, high: Choice) -> float:
    """The gain a bit between two choices."""
    return (high.score - low.score) / (high.bits - low.bits) if high.bits > low.bits else math.inf


def mean_score(curves: Sequence[Curve], chosen: Sequence[Choice]) -> float:
    """The mean over all frames of one choice for each shot."""
    weighted = (choice.score * curve.frames for curve, choice in zip(curves, chosen, strict=True))
    return math.fsum(weighted) / sum(curve.frames for curve in curves)


MOST_SHOTS: Final = 100  # above, rounding adds up, and the hulls are as good
_LEVELS: Final = 8192  # steps between the least and the largest total
_GAIN: Final = 1e-9  # what counts as one, beyond rounding


@dataclass(frozen=True, slots=True)
class Allocation:
    """One choice for each shot."""

    choices: tuple[Choice, ...]
    bits: float
    score: float  # the mean over all frames
    slope: float | None  # points of the clip's mean that the last megabit gave; None: nothing was divided
    met: bool  # whether the target or the budget is met


def least_bits(curves: Sequence[Curve], target: float) -> Allocation:
    """The fewest bits with which the mean over all frames meets the target."""
    walk = _Walk(curves)
    while walk.score < target and walk.step():
        pass
    met = walk.score >= target
    if met:
        if exact := _exactly(curves, lambda divisions: divisions.least_bits(target)):
            walk.take(exact)
        walk.polish(
            lambda shot, now, then: (now.bits - then.bits, (now.score - then.score) * curves[shot].frames),
            lambda: (walk.score - target) * walk.frames,
        )
    return _allocation(curves, walk.chosen, walk.slope, met)


def best_score(curves: Sequence[Curve], bits: float) -> Allocation:
    """The highest mean score over all frames that the budget buys."""
    walk = _Walk(curves)
    met = walk.bits <= bits
    if met:
        while walk.step(bits):
            pass
        if exact := _exactly(curves, lambda divisions: divisions.best_score(bits)):
            walk.take(exact)
        walk.polish(
            lambda shot, now, then: ((then.score - now.score) * curves[shot].frames, then.bits - now.bits),
            lambda: bits - walk.bits,
        )
    return _allocation(curves, walk.chosen, walk.slope, met)


def _exactly(curves: Sequence[Curve], ask: Callable[[Divisions], list[Choice] | None]) -> list[Choice] | None:
    """The best choices for a few shots."""
    return ask(Divisions(curves)) if len(curves) <= MOST_SHOTS else None


class _Walk:
    """The way up along all hulls, the steepest step first."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self._curves = curves
        self._hulls = [convex_hull(curve.choices, _place) for curve in curves]
        self._places = [0] * len(curves)
        self._steps: list[tuple[float, int]] = []  # by falling slope
        self.frames = sum(curve.frames for curve in curves)
        self.chosen = [steps[0] for steps in self._hulls]
        self.bits = math.fsum(choice.bits for choice in self.chosen)
        self.score = mean_score(curves, self.chosen)
        self.slope: float | None = None
        for shot in range(len(curves)):
            self._offer(shot)

    def take(self, choices: Sequence[Choice]) -> None:
        """Take these choices instead."""
        for shot, choice in enumerate(choices):
            self._choose(shot, choice)

    def _choose(self, shot: int, choice: Choice) -> None:
        # The totals are kept, because summing up a film's shots for every step takes long.
        now = self.chosen[shot]
        self.bits += choice.bits - now.bits
        self.score += (choice.score - now.score) * self._curves[shot].frames / self.frames
        self.chosen[shot] = choice

    def _offer(self, shot: int) -> None:
        steps, place = self._hulls[shot], self._places[shot]
        if place + 1 < len(steps):
            slope = gain_a_bit(steps[place], steps[place + 1]) * self._curves[shot].frames
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

    def polish(
        self, worth: Callable[[int, Choice, Choice], tuple[float, float]], left: Callable[[], float]
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


def _allocation(
    curves: Sequence[Curve], chosen: Sequence[Choice], slope: float | None, met: bool
) -> Allocation:
    return Allocation(
        tuple(chosen), math.fsum(choice.bits for choice in chosen), mean_score(curves, chosen), slope, met
    )


# ---- exact division ------------------------------------------------------------------------------
# The best division of bits among a few shots, found by trying all totals of the score in fine steps.
# Walking along convex hulls ends up to one step of one shot away from the best division. That is nothing in a
# film of a thousand shots, and some percent of the bits of a clip of ten.


class Divisions:
    """For every total of the score the fewest bits, and the choices that have them."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self._curves = curves
        self._choices = [pareto(curve.choices, _place) for curve in curves]
        worths = [
            np.array([choice.score * curve.frames for choice in choices])
            for curve, choices in zip(curves, self._choices, strict=True)
        ]
        self._least = math.fsum(float(values[0]) for values in worths)
        span = math.fsum(float(values[-1] - values[0]) for values in worths)
        self._step = span / _LEVELS or 1.0
        self._levels = [np.rint((values - values[0]) / self._step).astype(int) for values in worths]
        size = _LEVELS + len(curves) + 1
        self._bits = np.full(size, np.inf)
        self._bits[0] = 0.0
        self._picks = []
        for choices, levels in zip(self._choices, self._levels, strict=True):
            bits, pick = np.full(size, np.inf), np.zeros(size, np.int16)
            for number, (choice, level) in enumerate(zip(choices, levels, strict=True)):
                reached = self._bits[: size - level] + choice.bits
                better = reached < bits[level:]
                bits[level:][better] = reached[better]
                pick[level:][better] = number
            self._bits = bits
            self._picks.append(pick)

    def least_bits(self, score: float) -> list[Choice] | None:
        """The choices with the fewest bits whose mean score is at least this."""
        frames = sum(curve.frames for curve in self._curves)
        level = math.ceil((score * frames - self._least) / self._step) - len(self._picks)
        # Levels are rounded: those near the score asked for may reach it or not.
        for first in range(max(level, 0), len(self._bits)):
            best = first + int(np.argmin(self._bits[first:]))
            if not np.isfinite(self._bits[best]):
                return None
            chosen = self._chosen(best)
            if mean_score(self._curves, chosen) >= score:
                return chosen
        return None

    def best_score(self, bits: float) -> list[Choice] | None:
        """The choices with the highest mean score that these bits suffice for."""
        able = np.flatnonzero(self._bits <= bits)
        return self._chosen(int(able[-1])) if len(able) else None

    def _chosen(self, level: int) -> list[Choice]:
        chosen = []
        for choices, levels, pick in zip(
            self._choices[::-1], self._levels[::-1], self._picks[::-1], strict=True
        ):
            number = int(pick[level])
            chosen.append(choices[number])
            level -= int(levels[number])
        return chosen[::-1]
