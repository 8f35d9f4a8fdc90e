"""The upper convex hull of samples of all resolutions: the encodes that are worth their bits.

The hull is over the bitrate itself, not its logarithm. Segments of two encodes alternated have a rate and a
score on the straight line between theirs, so a sample under such a line is never worth choosing. That holds
for rates, not for their logarithms. Scores over the logarithm are also S-shaped, and a hull there would
drop the low rungs, which phones need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar


class Rated(Protocol):
    """Something with a bitrate and a score."""

    @property
    def bitrate_kbps(self) -> float: ...
    @property
    def vmaf(self) -> float: ...


R = TypeVar("R", bound=Rated)


def pareto(samples: Iterable[R]) -> list[R]:
    """The samples that no other beats in both rate and score, by rising rate and score."""
    kept: list[R] = []
    for sample in sorted(samples, key=lambda sample: (sample.bitrate_kbps, -sample.vmaf)):
        usable = math.isfinite(sample.vmaf) and math.isfinite(sample.bitrate_kbps)
        if usable and (not kept or sample.vmaf > kept[-1].vmaf):
            kept.append(sample)
    return kept


def convex_hull(samples: Iterable[R]) -> list[R]:
    """The samples on the upper convex hull, by rising rate: a point costs more bits at each step up."""
    hull: list[R] = []
    for sample in pareto(samples):
        while len(hull) > 1 and _at_or_under(hull[-1], hull[-2], sample):
            hull.pop()
        hull.append(sample)
    return hull


def near_hull(samples: Iterable[R], below: float) -> list[R]:
    """The samples that nothing beats and that are at most so many points of VMAF under the hull."""
    front = pareto(samples)
    hull = convex_hull(front)
    return [sample for sample in front if (score_at(hull, sample.bitrate_kbps) or 0.0) - sample.vmaf <= below]


def score_at(curve: Sequence[R], bitrate_kbps: float) -> float | None:
    """The score of a curve at a rate, on the line between two of its points; None outside of them.

    Above its last point a curve still has that point's score: more bits don't make it worse.
    """
    if not curve or bitrate_kbps < curve[0].bitrate_kbps:
        return None
    for low, high in pairwise(curve):
        if bitrate_kbps <= high.bitrate_kbps:
            part = (bitrate_kbps - low.bitrate_kbps) / (high.bitrate_kbps - low.bitrate_kbps)
            return low.vmaf + part * (high.vmaf - low.vmaf)
    return curve[-1].vmaf


def _at_or_under(middle: Rated, left: Rated, right: Rated) -> bool:
    """Whether a sample is on or under the line between two others."""
    gained = (middle.vmaf - left.vmaf) * (right.bitrate_kbps - left.bitrate_kbps)
    on_line = (right.vmaf - left.vmaf) * (middle.bitrate_kbps - left.bitrate_kbps)
    return gained <= on_line
