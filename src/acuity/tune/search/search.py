"""Search: which quality to encode next, and when the largest value that meets a target is known.

It knows steps, from 0 (the encoder's best quality) to the last (its worst), a prior belief of the score at
each step, and the figures that were measured. It encodes nothing.

The belief is a Gaussian process over the steps: what was measured bends it. The next step is the one after
which the search is expected to take the fewest encodes (rehearsal.py). A search ends with a point that meets
the target by no more than the tolerance, or with two neighbours of which one meets it and the next one
doesn't.

Encoders may fail at a value, most of all at their ends. A figure that misses the target is refuted by a
clearly better one of worse quality, and then counts no more; and that nothing meets the target is said only
if two figures agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from acuity.tune.search.priors import Prior
from acuity.tune.search.rehearsal import Aim, Array, Places, expected_encodes
from acuity.tune.search.target import Target

_LIKELY, _OVERALL = 12, 8  # places that are considered for the next encode
_PATIENCE: Final = 5  # encodes that follow the belief; later ones also divide what is left
_LAST_PATIENCE: Final = 7  # after so many what is left is halved
_SAME_SIDE: Final = 4  # encodes in a row on one side of the target: the belief is wrong about the curve
_STUBBORN: Final = 4.0  # measured points that the prior's own spread counts as
_CLEARLY: Final = 3.0  # deviations of the noise by which a figure is clearly better than another
_WORTHWHILE: Final = 0.75  # of the chance of the best quality: worse ones that have it are tried before it
_SAME: Final = 1e-4  # figures that differ by no more are the same


@dataclass(frozen=True, slots=True)
class _Belief:
    mean: Array
    covariance: Array

    def after(self, at: int, value: float, noise: float) -> _Belief:
        """The belief when the value at a step is known."""
        column = self.covariance[:, at]
        gain = column / (self.covariance[at, at] + noise)
        return _Belief(self.mean + gain * (value - self.mean[at]), self.covariance - np.outer(gain, column))


class Search:
    """A search in steps `first` to `last`; ask `next()` for a step, `add()` its figure, until it is None."""

    def __init__(
        self,
        target: Target,
        prior: Prior,
        *,
        tolerance: float | None = None,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """`prior` covers all steps of the encoder; those of the search may be fewer."""
        self.target = target
        self.tolerance = target.tolerance if tolerance is None else tolerance
        self._figures: dict[int, float] = {}  # by position
        self._prior = prior
        steps = len(prior.mean)
        # Inside, positions are ordered so that the target is met at first and missed later: those of a limit
        # of bits are the steps in reverse.
        self._reversed = target.kind != "quality"
        self._steps = np.arange(steps)[::-1] if self._reversed else np.arange(steps)
        edges = sorted(map(self._place, (first, steps - 1 if last is None else last)))
        self._low_edge, self._high_edge = edges[0] - 1, edges[1] + 1
        better = -1 if self._reversed or target.lower_is_better else 1
        near = target.value + better * self.tolerance  # the best figure that is near enough to the target
        self._aim = Aim(prior.scale(target.value), prior.scale(near))

    def add(self, step: int, figure: float) -> None:
        """Take note of what was measured; steps outside the search's range help, but are never its answer."""
        self._figures[self._place(step)] = figure

    def learn(self, prior: Prior) -> None:
        """Take another prior of the same scale, since more is known of the content."""
        self._prior = prior

    @property
    def found(self) -> int | None:
        """The worst quality known to meet the target (of a bitrate or size: the best), or None so far."""
        low = self._bracket()[0]
        return None if low == self._low_edge else int(self._steps[low])

    @property
    def done(self) -> bool:
        """Whether no encode is left that could lead to a better answer, within the tolerance."""
        low, high = self._bracket()
        if not len(self._open(low, high)):
            return low > self._low_edge or not self._alone
        step = self.found
        near = step is not None and self.target.spare(self._figures[self._place(step)]) <= self.tolerance
        return near and self.tolerance > 0

    @property
    def nearest(self) -> int | None:
        """The step in range whose figure comes nearest to the target, for a target that nothing meets.

        Of several with the same figure it is the one with the fewest bits, or the best quality for a limit.
        """
        spares = {place: self.target.spare(figure) for place, figure in self._inside().items()}
        if not spares:
            return None
        best = max(spares.values())
        return int(self._steps[max(place for place, spare in spares.items() if spare >= best - _SAME)])

    @property
    def surest(self) -> int:
        """The step in range, of those not measured, that is likeliest to meet the target."""
        left = self._open(self._low_edge, self._high_edge)
        return int(self._steps[left[0] if len(left) else self._low_edge + 1])

    def next(self) -> int | None:
        """The step to encode next, or None when the search has ended."""
        if self.done:
            return None
        low, high = self._bracket()
        places = self._open(low, high)
        if not len(places):
            return self._promising()
        belief = self._belief()
        starts = self._starts(belief, places, low, high)
        left = belief.mean[places], belief.covariance[np.ix_(places, places)], self._prior.noise
        encodes = expected_encodes(self._aim, *left, places, starts, (low, high))
        place = places[starts[int(np.argmin(encodes))]]
        if not self._inside():
            place = max(place, self._place(self._promising()))
        return int(self._steps[place])

    def _promising(self) -> int:
        """A step whose encode is nearly as likely to meet the target as the best in range, but cheaper.

        It comes before the best one, of which a figure alone says little: where scores hardly rise any more
        it meets targets that far worse qualities meet as well, and encoders fail there more than elsewhere.
        """
        places = self._open(self._low_edge + 1, self._high_edge)
        if not len(places):
            return self.surest
        spread = np.sqrt(np.diag(self._prior.covariance)[self._steps] + self._prior.noise)
        reached = (self._prior.mean[self._steps] - self._aim.goal) / spread
        chances = np.array([NormalDist().cdf(value) for value in reached[places]])
        return int(self._steps[places[np.flatnonzero(chances >= _WORTHWHILE * chances.max())[-1]]])

    def _allowed(self, low: int, high: int) -> tuple[int, int]:
        """The places between which the next encode must lie, so that a wrong belief costs few encodes.

        Encodes that creep to the target from one side must at least double their stride each time; and after
        some encodes each of them must leave at most three quarters, and later half.
        """
        nearest, farthest = low + 1, high - 1
        places = [*self._figures]
        met = [self.target.met(figure) for figure in self._figures.values()]
        if len(met) >= _SAME_SIDE and len(set(met[-_SAME_SIDE:])) == 1:
            stride = min(2 * abs(places[-1] - places[-2]), (high - low) // 2)
            if met[-1]:
                nearest = low + stride
            else:
                farthest = high - stride
        if len(met) > _PATIENCE and high - low > (3 if len(met) <= _LAST_PATIENCE else 2):
            margin = (high - low) // (4 if len(met) <= _LAST_PATIENCE else 2)
            nearest, farthest = max(nearest, low + margin), min(farthest, high - margin)
        return nearest, farthest

    def _place(self, step: int) -> int:
        return len(self._prior.mean) - 1 - step if self._reversed else step

    def _inside(self) -> dict[int, float]:
        return {at: figure for at, figure in self._figures.items() if self._low_edge < at < self._high_edge}

    @property
    def _alone(self) -> bool:
        """Whether only one figure is known, and a second one could confirm or refute it."""
        return len(self._inside()) == 1 and self._high_edge - self._low_edge > 2

    def _open(self, low: int, high: int) -> Places:
        """The places between two others that were not measured."""
        known = self._inside()
        return np.array([place for place in range(low + 1, high) if place not in known], dtype=np.int64)

    def _refuted(self) -> set[int]:
        """The places that miss the target, and have a figure clearly below that of a later place."""
        clearly, best, found = _CLEARLY * math.sqrt(self._prior.noise), -math.inf, set()
        for place, figure in sorted(self._figures.items(), reverse=True):
            value = self._prior.scale(figure)
            if value < best - clearly and not self.target.met(figure):
                found.add(place)
            best = max(best, value)
        return found

    def _bracket(self) -> tuple[int, int]:
        """The last place that meets the target, and the first after it that misses it and isn't refuted.

        Noise may make a place miss it that lies before one that meets it: the later one counts.
        """
        met = {place: self.target.met(figure) for place, figure in self._inside().items()}
        low = max((place for place, good in met.items() if good), default=self._low_edge)
        missing = {place for place, good in met.items() if not good and place > low} - self._refuted()
        return low, min(missing, default=self._high_edge)

    def _belief(self) -> _Belief:
        """The prior, bent by what was measured, and wider where that was unlike the prior."""
        order = self._steps
        belief = _Belief(self._prior.mean[order], self._prior.covariance[np.ix_(order, order)])
        surprise, refuted = 0.0, self._refuted()
        for at, figure in self._figures.items():
            if at in refuted:
                continue
            value = self._prior.scale(figure)
            noise = self._prior.noise
            if self._prior.scale.saturated(figure):
                # The score has an end, what it stands for hasn't: the belief decides how far it is above.
                value, noise = max(value, float(belief.mean[at])), 4 * noise
            surprise += (value - belief.mean[at]) ** 2 / (belief.covariance[at, at] + noise)
            belief = belief.after(at, float(value), noise)
        width = (_STUBBORN + surprise) / (_STUBBORN + len(self._figures) - len(refuted))
        return _Belief(belief.mean, belief.covariance * width)

    def _starts(self, belief: _Belief, places: Places, low: int, high: int) -> Places:
        """The places that are considered for the next encode, by index: likely ends, and some all over."""
        nearest, farthest = self._allowed(low, high)
        allowed = np.flatnonzero((places >= nearest) & (places <= farthest))
        if not len(allowed):
            return np.arange(len(places))
        if len(allowed) <= _LIKELY + _OVERALL:
            return allowed
        spread = np.sqrt(np.maximum(np.diag(belief.covariance), 0) + self._prior.noise)
        ends = self._aim.chances(belief.mean[places], spread[places], places, low, high)[allowed]
        likely = allowed[np.argsort(-ends, kind="stable")[:_LIKELY]]
        overall = allowed[np.linspace(0, len(allowed) - 1, _OVERALL).round().astype(int)]
        return np.union1d(likely, overall)
