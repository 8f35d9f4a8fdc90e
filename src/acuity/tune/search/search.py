"""Search: which quality to encode next, and when the largest value that meets a target is known.

It knows steps, from 0 (the encoder's best quality) to the last (its worst), a prior belief of the score at
each step, and the figures that were measured. It encodes nothing.

The belief is a Gaussian process over the steps: what was measured bends it. The next step is the one after
which the search is expected to take the fewest encodes (rehearsal.py). A search ends with a point that meets
the target by no more than the tolerance, or with two neighbours of which one meets it and the next one
doesn't.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from acuity.tune.search.rehearsal import Aim, Array, Places, expected_encodes

if TYPE_CHECKING:
    from acuity.tune.search.priors import Prior
    from acuity.tune.search.target import Target

_LIKELY, _OVERALL = 12, 8  # places that are considered for the next encode
_PATIENCE: Final = 5  # encodes that follow the belief; later ones also divide what is left
_SAME_SIDE: Final = 4  # encodes in a row on one side of the target: the belief is wrong about the curve
_STUBBORN: Final = 4.0  # measured points that the prior's own spread counts as


@dataclass(frozen=True, slots=True)
class _Belief:
    """Mean and covariance of the score, on the prior's scale, at every step."""

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
        self.figures: dict[int, float] = {}
        self._prior = prior
        steps = len(prior.mean)
        # Inside, positions are ordered so that the target is met at first and missed later: those of a limit
        # of bits are the steps in reverse.
        self._reversed = target.kind != "quality"
        self._steps = np.arange(steps)[::-1] if self._reversed else np.arange(steps)
        end = steps - 1 if last is None else last
        edges = self._place(first), self._place(end)
        self._low_edge, self._high_edge = min(edges) - 1, max(edges) + 1
        self._aim = Aim(prior.scale(target.value), self._nearly())

    def add(self, step: int, figure: float) -> None:
        """Take note of what was measured; steps outside the search's range help, but are never its answer."""
        self.figures[step] = figure

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
        if high - low <= 1:
            return True
        step = self.found
        near = step is not None and self.target.spare(self.figures[step]) <= self.tolerance
        return near and self.tolerance > 0

    @property
    def nearest(self) -> int | None:
        """The step in range whose figure comes nearest to the target, for a target that nothing meets."""
        known = [step for step in self.figures if self._low_edge < self._place(step) < self._high_edge]
        return max(known, key=lambda step: self.target.spare(self.figures[step]), default=None)

    @property
    def surest(self) -> int:
        """The step in range that is likeliest to meet the target."""
        return int(self._steps[self._low_edge + 1])

    def next(self) -> int | None:
        """The step to encode next, or None when the search has ended."""
        if self.done:
            return None
        low, high = self._bracket()
        belief = self._belief()
        places = np.arange(low + 1, high)
        starts = self._starts(belief, places, low, high)
        encodes = expected_encodes(
            self._aim,
            belief.mean[places],
            belief.covariance[np.ix_(places, places)],
            self._prior.noise,
            places,
            starts,
            (low, high),
        )
        return int(self._steps[places[starts[int(np.argmin(encodes))]]])

    def _allowed(self, low: int, high: int) -> tuple[int, int]:
        """The places between which the next encode must lie, so that a wrong belief costs few encodes.

        Encodes that creep to the target from one side must at least double their stride each time; and after
        some encodes each of them must leave at most three quarters.
        """
        nearest, farthest = low + 1, high - 1
        places = [self._place(step) for step in self.figures]
        met = [self.target.met(figure) for figure in self.figures.values()]
        if len(met) >= _SAME_SIDE and len(set(met[-_SAME_SIDE:])) == 1:
            stride = min(2 * abs(places[-1] - places[-2]), (high - low) // 2)
            if met[-1]:
                nearest = low + stride
            else:
                farthest = high - stride
        if len(met) > _PATIENCE and high - low > 3:
            margin = (high - low) // 4
            nearest, farthest = max(nearest, low + margin), min(farthest, high - margin)
        return nearest, farthest

    def predicted(self, step: int) -> float:
        """The figure that is believed of a step."""
        return self._prior.scale.inverse(float(self._belief().mean[self._place(step)]))

    def _place(self, step: int) -> int:
        return len(self._prior.mean) - 1 - step if self._reversed else step

    def _nearly(self) -> float:
        """The best figure that is near enough to the target, on the prior's scale."""
        better = -1 if self._reversed or self.target.lower_is_better else 1
        return self._prior.scale(self.target.value + better * self.tolerance)

    def _bracket(self) -> tuple[int, int]:
        """The last place that meets the target, and the first after it that misses it.

        Noise may make a place miss it that lies before one that meets it: the later one counts.
        """
        met = {self._place(step): self.target.met(figure) for step, figure in self.figures.items()}
        inside = {place: good for place, good in met.items() if self._low_edge < place < self._high_edge}
        low = max((place for place, good in inside.items() if good), default=self._low_edge)
        high = min(
            (place for place, good in inside.items() if not good and place > low), default=self._high_edge
        )
        return low, high

    def _belief(self) -> _Belief:
        """The prior, bent by what was measured, and wider where that was unlike the prior."""
        order = slice(None, None, -1) if self._reversed else slice(None)
        belief = _Belief(self._prior.mean[order], self._prior.covariance[order, order])
        surprise = 0.0
        for step, figure in self.figures.items():
            at = self._place(step)
            value = self._prior.scale(figure)
            noise = self._prior.noise
            if self._prior.scale.saturated(figure):
                # The score has an end, what it stands for hasn't: the belief decides how far it is above.
                value, noise = max(value, float(belief.mean[at])), 4 * noise
            surprise += (value - belief.mean[at]) ** 2 / (belief.covariance[at, at] + noise)
            belief = belief.after(at, float(value), noise)
        width = (_STUBBORN + surprise) / (_STUBBORN + len(self.figures))
        return _Belief(belief.mean, belief.covariance * width)

    def _starts(self, belief: _Belief, places: Places, low: int, high: int) -> Places:
        """The places that are considered for the next encode, by index: likely ends, and some all over."""
        nearest, farthest = self._allowed(low, high)
        allowed = np.flatnonzero((places >= nearest) & (places <= farthest))
        if len(allowed) <= _LIKELY + _OVERALL:
            return allowed
        spread = np.sqrt(np.maximum(np.diag(belief.covariance), 0) + self._prior.noise)
        ends = self._aim.chances(belief.mean[places], spread[places], places, low, high)[allowed]
        likely = allowed[np.argsort(-ends, kind="stable")[:_LIKELY]]
        overall = allowed[np.linspace(0, len(allowed) - 1, _OVERALL).round().astype(int)]
        return np.union1d(likely, overall)
