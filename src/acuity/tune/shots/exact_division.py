"""The best division of bits among a few shots, found by trying all totals of the score in fine steps.

Walking along convex hulls ends up to one step of one shot away from the best division. That is nothing in a
film of a thousand shots, and some percent of the bits of a clip of ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from acuity.tune.shots.shot_curve import Choice, Curve, mean_score, undominated

MOST_SHOTS: Final = 100  # above, rounding adds up, and the hulls are as good
_LEVELS: Final = 8192  # steps between the least and the largest total


class Divisions:
    """For every total of the score the fewest bits, and the choices that have them."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self._curves = curves
        self._choices = [undominated(curve.choices) for curve in curves]
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
