"""The curve of a shot: what its qualities cost and give, and which of them are worth choosing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acuity.errors import TuneError


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
        if not self.choices or self.frames < 1:
            raise TuneError("a shot needs a frame and a measured encode before bits can be given to it")
        if not all(math.isfinite(value) for choice in self.choices for value in choice[1:]):
            raise TuneError("a shot has a score or a size that is not a number, so bits can't be given to it")


def hull(choices: Sequence[Choice]) -> list[Choice]:
    """The choices on the upper convex hull, by rising bits: scores rise, and gains a bit fall."""
    kept: list[Choice] = []
    for choice in sorted(choices, key=lambda one: (one.bits, -one.score)):
        if kept and choice.score <= kept[-1].score:
            continue  # it costs no less than one that is as good
        while len(kept) > 1 and gain_a_bit(kept[-2], kept[-1]) <= gain_a_bit(kept[-1], choice):
            kept.pop()
        kept.append(choice)
    return kept


def undominated(choices: Sequence[Choice]) -> list[Choice]:
    """The choices that no other is as good as for fewer bits, by rising bits."""
    kept: list[Choice] = []
    for choice in sorted(choices, key=lambda one: (one.bits, -one.score)):
        if not kept or choice.score > kept[-1].score:
            kept.append(choice)
    return kept


def gain_a_bit(low: Choice, high: Choice) -> float:
    """The gain a bit between two choices."""
    return (high.score - low.score) / (high.bits - low.bits) if high.bits > low.bits else math.inf


def mean_score(curves: Sequence[Curve], chosen: Sequence[Choice]) -> float:
    """The mean over all frames of one choice for each shot."""
    weighted = (choice.score * curve.frames for curve, choice in zip(curves, chosen, strict=True))
    return math.fsum(weighted) / sum(curve.frames for curve in curves)
