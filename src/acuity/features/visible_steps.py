"""The steps between luma values that a viewer can see, and the weight of each.

Values are 10-bit luma of limited range. A step from one value to a larger one is visible up to the luma
value above which it adds less than a given share to the luminance.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Final, NamedTuple

_BLACK: Final = 64
_WHITE: Final = 940
_PEAK: Final = 1023

_BT1886_WHITE: Final = 300.0  # cd/m²
_BT1886_BLACK: Final = 0.01
_BT1886_GAMMA: Final = 2.4

_PQ_M1: Final = 0.1593017578125
_PQ_M2: Final = 78.84375
_PQ_C1: Final = 0.8359375
_PQ_C2: Final = 18.8515625
_PQ_C3: Final = 18.6875

# How a viewer responds to steps of 1 to 32, from contrasts above the threshold.
_WEIGHTS: Final = (
    *(1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8),
    *(8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9),
)


class Step(NamedTuple):
    """The weight of a step, and the lowest and highest values from which it can be seen."""

    weight: float
    lowest: int
    highest: int


def _bt1886(signal: float) -> float:
    white, black = (math.pow(level, 1.0 / _BT1886_GAMMA) for level in (_BT1886_WHITE, _BT1886_BLACK))
    gain = math.pow(white - black, _BT1886_GAMMA)
    lift = black / (white - black)
    return gain * math.pow(max(signal + lift, 0.0), _BT1886_GAMMA)


def _pq(signal: float) -> float:
    power = math.pow(signal, 1.0 / _PQ_M2)
    ratio = max(power - _PQ_C1, 0.0) / (_PQ_C2 - _PQ_C3 * power)
    return 10000.0 * math.pow(ratio, 1.0 / _PQ_M1)


# Electro-optical transfer functions: luminance in cd/m² of a signal from 0 to 1.
EOTFS: Final[dict[str, Callable[[float], float]]] = {"bt1886": _bt1886, "pq": _pq}


class _Display:
    """The luminance of every value, in increasing order."""

    def __init__(self, eotf: str) -> None:
        transfer = EOTFS[eotf]
        self._levels = [transfer((value - _BLACK) / (_WHITE - _BLACK)) for value in range(_BLACK, _WHITE + 1)]

    def luminance(self, value: int) -> float:
        return self._levels[min(max(value, _BLACK), _WHITE) - _BLACK]

    def first_at_least(self, luminance: float) -> int:
        """The darkest value of at least that luminance; 0 if all have it, more than any value if none has."""
        number = bisect.bisect_left(self._levels, luminance)
        if number == len(self._levels):
            return _PEAK + 1 + 3 * len(_WEIGHTS)
        return _BLACK + number if number else 0

    def last_visible(self, step: int, share: float) -> int:
        """The brightest value from which the step adds more than that share of luminance."""

        def visible(value: int) -> bool:
            before = self.luminance(value)
            return self.luminance(value + step) - before > share * before

        low, high = _BLACK, _WHITE - step - 1
        if not visible(low):
            return 0
        if not visible(low + 1):
            return low
        if visible(high):
            return _PEAK if visible(high + 1) else high
        while visible(low + 1):  # visible at low, not at high
            middle = low + (high - low) // 2
            if visible(middle):
                low = middle
            else:
                high = middle
        return low


def visible_steps(eotf: str, share: float, darkest: float, largest: int) -> list[Step]:
    """The steps from 1 to the largest; visible if they add more than `share` and are not below `darkest`."""
    display = _Display(eotf)
    limit = display.first_at_least(darkest)
    return [
        Step(float(_WEIGHTS[step - 1]), limit - largest - step + 1, display.last_visible(step, share))
        for step in range(1, largest + 1)
    ]
