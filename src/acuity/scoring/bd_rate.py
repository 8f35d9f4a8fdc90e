"""The BD-rate of two encoders: how many more or fewer bits one needs for the score of the other, on average.

Also the opposite: how much higher one scores at equal rates.

Bjøntegaard's delta rate as the standards bodies compute it (JCTVC-L1100, JVET-T2010): each curve is the
logarithm of the rate over the score, interpolated by a piecewise cubic that is monotonic where its points
are (PCHIP), and the two are averaged over the scores that both curves have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

FEWEST: Final = 4  # points of a curve: the method's own rule
# Share of the scores of both curves together that both must cover: below it the figure says little of either.
OVERLAP: Final = 0.25

Curve = Iterable[tuple[float, float]]  # (rate, score)
Floats = NDArray[np.float64]
T = TypeVar("T")


class BdRate(NamedTuple):
    """A BD-rate in percent, or why there is none."""

    percent: float | None  # below 0: the curve under test needs fewer bits than the anchor
    reason: str | None  # why there is none
    scores: tuple[float, float] | None = None  # from which to which score the curves were compared


def bd_rate(anchor: Curve, test: Curve) -> float | None:
    """How many percent more bits `test` needs than `anchor` at equal score; None if it can't be said."""
    return compare_curves(anchor, test).percent


def compare_curves(anchor: Curve, test: Curve) -> BdRate:
    """The BD-rate of points (rate, score), with the reason if there is none."""
    curves = [rising(points) for points in (anchor, test)]
    for name, points in zip(("the first curve", "the other curve"), curves, strict=True):
        if len(points) < FEWEST:
            return BdRate(
                None, f"{name} has {len(points)} rising points, and a BD-rate needs at least {FEWEST}"
            )
    ranges = [(points[0][1], points[-1][1]) for points in curves]
    low = max(first for first, _ in ranges)
    high = min(last for _, last in ranges)
    all_scores = max(last for _, last in ranges) - min(first for first, _ in ranges)
    if high - low < OVERLAP * all_scores:
        spans = " and ".join(f"{first:.2f} to {last:.2f}" for first, last in ranges)
        return BdRate(None, f"less than a quarter of the scores are common to both curves: {spans}")
    means = [_mean_value([(math.log(rate), score) for rate, score in points], low, high) for points in curves]
    return BdRate(100.0 * math.expm1(means[1] - means[0]), None, (low, high))


def compare_scores(anchor: Curve, test: Curve) -> float | None:
    """How much higher `test` scores than `anchor` at equal rates, on average over the logarithm of the rate.

    None where a BD-rate can't be said either, or less than a quarter of the rates are common to both curves.
    """
    if compare_curves(anchor, test).percent is None:
        return None
    curves = [[(score, math.log(rate)) for rate, score in rising(points)] for points in (anchor, test)]
    low, high = max(points[0][1] for points in curves), min(points[-1][1] for points in curves)
    all_rates = max(points[-1][1] for points in curves) - min(points[0][1] for points in curves)
    if high - low < OVERLAP * all_rates:
        return None
    means = [_mean_value(points, low, high) for points in curves]
    return means[1] - means[0]


def rising(points: Curve) -> list[tuple[float, float]]:
    """The points by rate, without those that cost more than another and aren't better.

    Encoders are a little noisy, and scores saturate: nobody would choose such a point.
    """
    usable = ((float(rate), float(score)) for rate, score in points if rate > 0)
    return pareto(usable, lambda point: point)


def pareto(samples: Iterable[T], place: Callable[[T], tuple[float, float]]) -> list[T]:
    """The samples that no other beats, by rising cost; `place` gives a sample's cost and worth."""
    kept: list[T] = []
    for sample in sorted(samples, key=lambda sample: (place(sample)[0], -place(sample)[1])):
        cost, worth = place(sample)
        if math.isfinite(cost) and math.isfinite(worth) and (not kept or worth > place(kept[-1])[1]):
            kept.append(sample)
    return kept


def convex_hull(samples: Iterable[T], place: Callable[[T], tuple[float, float]]) -> list[T]:
    """The samples on the upper convex hull, by rising cost: worth costs more at each step up."""
    hull: list[T] = []
    for sample in pareto(samples, place):
        while len(hull) > 1:
            (left, low), (middle, value), (right, high) = map(place, (*hull[-2:], sample))
            if (value - low) * (right - left) > (high - low) * (middle - left):
                break  # it is above the line between the two others
            hull.pop()
        hull.append(sample)
    return hull


def _mean_value(points: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """The mean of interpolated points (value, place) from one place to another."""
    values, places = np.array(points, dtype=np.float64).T
    slopes = pchip_slopes(places, values)
    return (_integral(places, values, slopes, high) - _integral(places, values, slopes, low)) / (high - low)


def pchip_slopes(x: Floats, y: Floats) -> Floats:
    """The slopes at the points of a PCHIP curve, by Fritsch and Butland; needs three points at least."""
    steps = np.diff(x)
    secants = np.diff(y) / steps
    slopes = np.zeros_like(y)
    same = secants[:-1] * secants[1:] > 0  # elsewhere the point is an extreme, and the curve is level there
    before, after = steps[:-1], steps[1:]
    first, second = 2 * after + before, after + 2 * before
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (first + second) / (first / secants[:-1] + second / secants[1:])
    slopes[1:-1] = np.where(same, inner, 0.0)
    slopes[0] = _end_slope(steps[0], steps[1], secants[0], secants[1])
    slopes[-1] = _end_slope(steps[-1], steps[-2], secants[-1], secants[-2])
    return slopes


def _end_slope(step: float, next_step: float, secant: float, next_secant: float) -> float:
    """The slope at an end: that of the parabola through three points, unless it would overshoot."""
    slope = ((2 * step + next_step) * secant - step * next_secant) / (step + next_step)
    if slope * secant <= 0:
        return 0.0
    if secant * next_secant <= 0 and abs(slope) > 3 * abs(secant):
        return 3 * secant
    return float(slope)


def _integral(x: Floats, y: Floats, slopes: Floats, end: float) -> float:
    """The area under a cubic Hermite curve from its first point to `end`."""
    total = 0.0
    for i in range(len(x) - 1):
        if end <= x[i]:
            break
        step = x[i + 1] - x[i]
        t = min(1.0, (end - x[i]) / step)
        values = y[i] * (t - t**3 + t**4 / 2) + y[i + 1] * (t**3 - t**4 / 2)
        tangents = slopes[i] * (t**2 / 2 - 2 * t**3 / 3 + t**4 / 4) + slopes[i + 1] * (t**4 / 4 - t**3 / 3)
        total += step * (values + step * tangents)
    return float(total)
