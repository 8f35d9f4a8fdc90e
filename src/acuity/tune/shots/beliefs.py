"""What is believed of a shot's curve between the qualities that were measured, and a little beyond.

The logarithm of bits and the score follow a smooth curve through what was measured (PCHIP), and straight
lines beyond. A belief is never the answer: it says which quality is worth an encode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.scoring.bd_rate import pchip_slopes
from acuity.tune.shots.shot_curve import Choice, Curve

_REACH: Final = 8  # whole values that a curve is believed beyond what was measured of it
_HALVES: Final = (
    6.0  # whole values in which an encoder's bits halve, as long as one point is all that is known
)

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """What an encode of a shot gave."""

    bits: float
    score: float  # more is better


def measured_curve(frames: int, known: Mapping[int, Measured], quality: Callable[[int], float]) -> Curve:
    """The curve of what was measured, by step."""
    return Curve(frames, tuple(Choice(quality(step), *known[step]) for step in sorted(known)))


def believed_curve(
    frames: int,
    known: Mapping[int, Measured],
    quality: Callable[[int], float],
    limits: tuple[int, int],
    hope: float = 0.0,
    fineness: int = 1,
) -> Curve:
    """The curve of every step near those measured, within the limits; `fineness` steps are a whole value.

    With `hope` the score in the middle between two measured steps is believed to be better by that part of
    the difference between them: curves are round, and what was not looked at may be worth a look.
    """
    steps = np.array(sorted(known), dtype=np.float64)
    reach = _REACH * fineness
    asked = np.arange(max(limits[0], steps[0] - reach), min(limits[1], steps[-1] + reach) + 1)
    logs = _line(
        asked, steps, np.log([known[int(step)].bits for step in steps]), -math.log(2) / _HALVES / fineness
    )
    values = np.array([known[int(step)].score for step in steps])
    scores = _line(asked, steps, values, 0.0) + hope * _room(asked, steps, values)
    believed = {
        int(step): Measured(math.exp(log), float(score))
        for step, log, score in zip(asked, logs, scores, strict=True)
    }
    return measured_curve(frames, {**believed, **known}, quality)


def _line(at: Floats, steps: Floats, values: Floats, slope: float) -> Floats:
    """Values between what is known along a smooth curve, and beyond along straight lines."""
    if len(steps) == 1:
        return np.asarray(values[0] + slope * (at - steps[0]))
    secants = np.diff(values) / np.diff(steps)
    slopes = pchip_slopes(steps, values) if len(steps) > 2 else np.repeat(secants, 2)
    place = np.clip(np.searchsorted(steps, at, side="right") - 1, 0, len(steps) - 2)
    width = steps[place + 1] - steps[place]
    t = np.clip((at - steps[place]) / width, 0, 1)
    inside: Floats = (
        values[place] * (1 + 2 * t) * (1 - t) ** 2
        + width * slopes[place] * t * (1 - t) ** 2
        + values[place + 1] * t**2 * (3 - 2 * t)
        + width * slopes[place + 1] * t**2 * (t - 1)
    )
    inside += np.minimum(at - steps[0], 0) * secants[0] + np.maximum(at - steps[-1], 0) * secants[-1]
    return inside


def _room(at: Floats, steps: Floats, values: Floats) -> Floats:
    """The difference between the two measured steps around each, full in the middle and none at them."""
    if len(steps) == 1:
        return np.zeros(len(at))
    place = np.clip(np.searchsorted(steps, at, side="right") - 1, 0, len(steps) - 2)
    t = np.clip((at - steps[place]) / (steps[place + 1] - steps[place]), 0, 1)
    room: Floats = np.abs(values[place + 1] - values[place]) * 4 * t * (1 - t)
    return room
