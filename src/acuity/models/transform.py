"""Transforms a score after the SVM: polynomial, piecewise-linear map, rectification, then the clip."""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


class ScoreTransform(NamedTuple):
    """The stages before the clip; None as coefficient, or no knots, leaves a stage out."""

    p0: float | None = None
    p1: float | None = None
    p2: float | None = None
    knots: tuple[tuple[float, float], ...] = ()  # x rising, y not falling, at least two when given
    out_lte_in: bool = False
    out_gte_in: bool = False

    def apply(self, scores: Scores) -> Scores:
        result = self._map_knots(self._polynomial(scores))
        if self.out_lte_in:
            result = np.where(result > scores, scores, result)
        if self.out_gte_in:
            result = np.where(result < scores, scores, result)
        return result

    def _polynomial(self, x: Scores) -> Scores:
        if self.p0 is None and self.p1 is None and self.p2 is None:
            return x
        result = np.zeros_like(x)
        if self.p0 is not None:
            result += self.p0
        if self.p1 is not None:
            result += self.p1 * x
        if self.p2 is not None:
            result += self.p2 * x * x
        return result

    def _map_knots(self, x: Scores) -> Scores:
        """Straight lines through the knots, the outer ones extended; on a knot the right-hand line counts."""
        if not self.knots:
            return x
        result = x.copy()  # every finite x is on some line; NaN is on none and stays
        last = len(self.knots) - 2
        for index, (left, right) in enumerate(itertools.pairwise(self.knots)):
            slope, offset = _line(left, right)
            here = (left[0] <= x) & (x <= right[0])
            if index == 0:
                here |= x < left[0]
            if index == last:
                here |= x > right[0]
            result = np.where(here, offset if slope == 0.0 else slope * x + offset, result)
        return result


class ScoreClip(NamedTuple):
    low: float
    high: float

    def apply(self, scores: Scores) -> Scores:
        raised = np.where(scores < self.low, self.low, scores)
        return np.where(raised > self.high, self.high, raised)


def _line(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    """Slope and offset of the line through two knots, with libvmaf's roundings."""
    (x0, y0), (x1, y1) = left, right
    if y0 == y1:
        return 0.0, y0
    if x0 == 0:
        return (y1 - y0) / x1, y0
    slope = (y1 - y0) / (x1 - x0)
    return slope, y0 - x0 * slope
