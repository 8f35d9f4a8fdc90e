"""The choice of a ladder's rungs among the samples on its hull.

The rungs go from the cheapest sample that reaches the lowest target up to the cheapest that reaches the
highest. A single target is the top, and the ladder goes down to the end of the hull. Between the ends the
rungs are as evenly spaced as the hull's samples allow: in the logarithm of the bitrate, which is what a
player's connection varies in, or in VMAF.

Two rungs that look the same waste storage and cache. Six points of VMAF are about one just noticeable
difference, by which most viewers see a change; a difference below two is hardly ever seen. So rungs are at
least two points apart, and there are fewer of them where that leaves no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from acuity.scoring import bd_rate


class Rated(Protocol):
    @property
    def bitrate_kbps(self) -> float: ...
    @property
    def vmaf(self) -> float: ...


R = TypeVar("R", bound=Rated)


def _place(sample: Rated) -> tuple[float, float]:
    return sample.bitrate_kbps, sample.vmaf


def convex_hull(samples: Iterable[R]) -> list[R]:
    """The samples that are worth their bits.

    The hull is over the bitrate itself, not its logarithm. Segments of two encodes alternated have a rate and
    a score on the straight line between theirs, so a sample under such a line is never worth choosing. Scores
    over the logarithm are also S-shaped, and a hull there would drop the low rungs, which phones need.
    """
    return bd_rate.convex_hull(samples, _place)


def near_hull(samples: Iterable[R], below: float) -> list[R]:
    """The samples that nothing beats and that are at most so many points of VMAF under the hull."""
    front = bd_rate.pareto(samples, _place)
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


MIN_STEP: Final = 2.0  # VMAF between neighbours
NEAR: Final = 0.5  # VMAF under the hull that nobody sees

SPACINGS: Final[Mapping[str, Callable[[Rated], float]]] = {
    "log_bitrate": lambda sample: math.log(sample.bitrate_kbps),
    "vmaf": lambda sample: sample.vmaf,
    "uniform": lambda sample: sample.vmaf,  # the older name of "vmaf"
}


@dataclass(frozen=True, slots=True)
class RungChoice:
    """How rungs are chosen."""

    targets: Sequence[float]
    count: int = 5  # at most
    spacing: str = "log_bitrate"
    min_step: float = MIN_STEP

    @property
    def place(self) -> Callable[[Rated], float]:
        """Where a sample is, in the unit of the spacing."""
        return SPACINGS[self.spacing]


class Rungs(NamedTuple, Generic[R]):
    """The rungs, by rising bitrate, and what there is to say about them."""

    rungs: list[R]
    notes: list[str]


def ends(hull: Sequence[R], targets: Sequence[float]) -> tuple[int, int]:
    """The places of the lowest and the highest rung on a hull: the cheapest that reach the targets."""
    top = _reaching(hull, max(targets))
    bottom = _reaching(hull, min(targets)) if len(set(targets)) > 1 else 0
    return min(bottom, top), top


def select_rungs(hull: Sequence[R], wanted: RungChoice) -> Rungs[R]:
    bottom, top = ends(hull, wanted.targets)
    notes = [missed] if (missed := unreached(hull[top].vmaf, max(wanted.targets))) else []
    candidates = hull[bottom : top + 1]
    for number in range(min(wanted.count, len(candidates)), 1, -1):
        chosen = _most_even(candidates, number, wanted)
        if chosen is not None:
            return Rungs(chosen, notes + _fewer(number, candidates, wanted))
    return Rungs([hull[top]], notes + _fewer(1, candidates, wanted))


def choose_rungs(samples: Iterable[R], wanted: RungChoice) -> Rungs[R]:
    """The rungs among all samples: those of the hull, and if these are too few, ones that are nearly on it.

    Where scores rise in a line with the bits, a hull has only the ends of the line.
    """
    samples = list(samples)
    found = select_rungs(convex_hull(samples), wanted)
    if len(found.rungs) < wanted.count:
        near = select_rungs(near_hull(samples, NEAR), wanted)
        if len(near.rungs) > len(found.rungs):
            return near
    return found


def _reaching(hull: Sequence[Rated], target: float) -> int:
    """The cheapest sample that reaches a target, else the best one."""
    return next((i for i, sample in enumerate(hull) if sample.vmaf >= target), len(hull) - 1)


def even(low: float, high: float, count: int) -> list[float]:
    return [low + (high - low) * i / (count - 1) for i in range(count)] if count > 1 else [high]


def _most_even(candidates: Sequence[R], number: int, choice: RungChoice) -> list[R] | None:
    """So many samples, both ends among them, as near to even spacing as they can be; None if there are none.

    The best choice of k rungs that ends at a sample extends a best choice of k - 1, so it is found exactly.
    """
    places = [choice.place(sample) for sample in candidates]
    wanted = even(places[0], places[-1], number)
    best: list[tuple[float, tuple[int, ...]] | None] = [None] * len(candidates)
    best[0] = (0.0, (0,))
    for goal in wanted[1:]:
        longer: list[tuple[float, tuple[int, ...]] | None] = [None] * len(candidates)
        for i, sample in enumerate(candidates):
            before = [
                found
                for j, found in enumerate(best[:i])
                if found is not None and sample.vmaf - candidates[j].vmaf >= choice.min_step
            ]
            if before:
                cost, chosen = min(before)
                longer[i] = (cost + (places[i] - goal) ** 2, (*chosen, i))
        best = longer
    last = best[-1]
    return None if last is None else [candidates[i] for i in last[1]]


def unreached(best: float, target: float) -> str | None:
    """The sentence about a target that no sample reaches; None if one does."""
    if best >= target:
        return None
    return f"no sample reaches VMAF {target:g}: the top rung is the best of them, with {best:.2f}"


def _fewer(number: int, candidates: Sequence[Rated], wanted: RungChoice) -> list[str]:
    if number == wanted.count:
        return []
    low, high = candidates[0].vmaf, candidates[-1].vmaf
    rungs = "1 rung" if number == 1 else f"{number} rungs"
    return [
        f"{rungs} instead of {wanted.count}: from VMAF {low:.2f} to {high:.2f} the hull has no more samples "
        f"that are at least {wanted.min_step:g} points apart"
    ]
