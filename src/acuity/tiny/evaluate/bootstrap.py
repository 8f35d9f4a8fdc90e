"""Confidence intervals and comparisons by bootstrap: what the figures would be with other clips.

The samples are drawn with replacement 10,000 times, with a fixed seed, and the figures computed of each draw;
of more than 100 samples less often, 1,000 times at least, so that the work stays the same. Intervals are the
bias-corrected and accelerated ones (BCa). A draw is a row of counts, how often each sample is in it, so the
figures of all draws are a few products of matrices. Two models are compared on the same draws: what a hard
clip does to both then cancels out.

If there are more than 1,000 samples, draws come from 1,000 of them, and deviations shrink by the root of the
ratio, as the error of a mean does: the work is bounded, and with so many samples the corrections no longer
matter.

Of fewer than about 20 samples the intervals are a little narrow, as all bootstrap intervals are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from acuity.tiny.evaluate.statistics import NAMES, Vector, is_constant

DRAWS: Final = (1000, 10_000)  # at least and at most
_DRAWN: Final = 1_000_000  # samples in all draws together
SEED: Final = 20140606
_TAIL: Final = (1 - 0.95) / 2  # of a distribution, beyond either end of an interval
MOST: Final = 1000  # samples that are drawn from
SIGNIFICANT: Final = 0.05

Matrix = npt.NDArray[np.float64]
Interval = tuple[float, float]

_NORMAL: Final = NormalDist()
_DEGENERATE: Final = 1e-12  # of a variance: draws without any have no correlation
# Of PLCC: the same predictions on another scale differ by this much at most, because of single precision.
_NO_DIFFERENCE: Final = 1e-6
_LEAST_USABLE: Final = 0.9  # of the draws; with fewer no interval is given


class Draws:
    """The draws from a number of samples. All models that are compared share one."""

    def __init__(self, samples: int, most: int = DRAWS[1]) -> None:
        random = np.random.default_rng(SEED)
        self.samples = samples
        self.chosen = (
            np.arange(samples) if samples <= MOST else np.sort(random.choice(samples, MOST, replace=False))
        )
        size = len(self.chosen)
        self.shrinking = float(np.sqrt(size / samples))
        draws = min(max(_DRAWN // size, DRAWS[0]), most)
        drawn = random.integers(0, size, (draws, size)) + np.arange(draws)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size)
        self.counts: Matrix = counts.astype(np.float64)

    @cached_property
    def left_out(self) -> Matrix | None:
        """Counts in which one sample is missing, for the acceleration; None where deviations shrink."""
        size = len(self.chosen)
        return np.ones((size, size)) - np.eye(size) if size == self.samples else None


@dataclass(frozen=True, slots=True)
class Replicates:
    """The figures of one model in all draws, by name."""

    values: dict[str, Vector]  # one of each draw, NaN where a draw has no such figure
    centres: dict[str, float]  # of the samples that were drawn from
    accelerations: dict[str, float]
    shrinking: float

    def interval(self, name: str, figure: float | None) -> Interval | None:
        """The interval of a figure; None if the figure has no value or too few draws have one."""
        values = self.values[name][np.isfinite(self.values[name])]
        if figure is None or len(values) < _LEAST_USABLE * len(self.values[name]):
            return None
        low, high = _bca_levels(values, self.centres[name], self.accelerations[name])
        deviations = np.quantile(values, [low, high]) - self.centres[name]
        bounds = figure + deviations * self.shrinking
        if name != "rmse":
            bounds = np.clip(bounds, -1.0, 1.0)
        return float(bounds[0]), float(bounds[1])


@dataclass(frozen=True, slots=True)
class PlccDifference:
    """How much one model's PLCC is above another's, on the same samples."""

    difference: float
    ci95: Interval
    p_value: float  # two-sided, of no difference

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANT


def replicate(draws: Draws, predicted: Vector, target: Vector) -> Replicates:
    """The figures of every draw."""
    x, y = predicted[draws.chosen], target[draws.chosen]
    varied = not is_constant(x) and not is_constant(y)
    computed = {name: make(x, y) if varied or name == "rmse" else _nothing for name, make in _FIGURES.items()}
    whole = np.ones((1, len(x)))
    left_out = draws.left_out
    return Replicates(
        {name: of(draws.counts) for name, of in computed.items()},
        {name: float(of(whole)[0]) for name, of in computed.items()},
        {name: 0.0 if left_out is None else _acceleration(of(left_out)) for name, of in computed.items()},
        draws.shrinking,
    )


def compare(better: Replicates, worse: Replicates, difference: float) -> PlccDifference | None:
    """Two models on the same draws; `difference` is that of their PLCC on all samples.

    None if too few draws have a PLCC.
    """
    all_draws = better.values["plcc"] - worse.values["plcc"]
    found = all_draws[np.isfinite(all_draws)]
    if len(found) < _LEAST_USABLE * len(all_draws):
        return None
    centre = better.centres["plcc"] - worse.centres["plcc"]
    shifted = difference + (found - centre) * better.shrinking
    shifted[np.abs(shifted) < _NO_DIFFERENCE] = 0.0
    low, high = np.quantile(shifted, [_TAIL, 1 - _TAIL])
    below, above = int((shifted <= 0).sum()), int((shifted >= 0).sum())
    p_value = min(1.0, 2 * (1 + min(below, above)) / (1 + len(shifted)))
    return PlccDifference(difference, (float(low), float(high)), p_value)


def _bca_levels(values: Vector, centre: float, acceleration: float) -> Interval:
    """The quantiles of the draws that bound the interval."""
    below = (np.count_nonzero(values < centre) + 0.5 * np.count_nonzero(values == centre)) / len(values)
    bias = _NORMAL.inv_cdf(min(max(below, 1 / len(values)), 1 - 1 / len(values)))

    def level(edge: float) -> float:
        reach = bias + _NORMAL.inv_cdf(edge)
        return _NORMAL.cdf(bias + reach / max(1 - acceleration * reach, 0.1))

    return level(_TAIL), level(1 - _TAIL)


def _acceleration(left_out: Vector) -> float:
    """How the spread changes with the figure, from the figures without one sample each."""
    deviations = left_out.mean() - left_out
    if not np.isfinite(deviations).all():
        return 0.0
    squares = float((deviations**2).sum())
    return float((deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0


# ---- figures of draws: functions from rows of counts to one number a row, of samples that vary ------------

Drawn = Callable[[Matrix], Vector]


def _drawn_pearson(x: Vector, y: Vector) -> Drawn:
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    products = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def of(counts: Matrix) -> Vector:
        total = counts.sum(axis=1)
        sums = counts @ products
        mean_x, mean_y, xx, yy, xy = (sums / total[:, None]).T
        return _ratio(xy - mean_x * mean_y, xx - mean_x**2, yy - mean_y**2)

    return of


def _drawn_spearman(x: Vector, y: Vector) -> Drawn:
    above_x, above_y = _order(x), _order(y)

    def of(counts: Matrix) -> Vector:
        # Twice the mean ranks of the samples in each draw, about the middle rank.
        few = counts.astype(np.float32)
        x, y = few @ above_x.T, few @ above_y.T
        scale = counts.sum(axis=1) ** 3
        xy, xx, yy = ((counts * left * right).sum(axis=1) for left, right in ((x, y), (x, x), (y, y)))
        return _ratio(xy / scale, xx / scale, yy / scale)

    return of


def _drawn_kendall(x: Vector, y: Vector) -> Drawn:
    above_x, above_y = _order(x), _order(y)
    products = above_x * above_y, above_x**2, above_y**2

    def of(counts: Matrix) -> Vector:
        few = counts.astype(np.float32)
        # Over all pairs of a draw: those in the same order less the others, and those without a tie.
        scale = counts.sum(axis=1) ** 2
        xy, xx, yy = ((counts * (few @ pairs)).sum(axis=1) for pairs in products)
        return _ratio(xy / scale, xx / scale, yy / scale)

    return of


def _drawn_rmse(x: Vector, y: Vector) -> Drawn:
    squares = (x - y) ** 2
    return lambda counts: np.asarray(np.sqrt(counts @ squares / counts.sum(axis=1)))


_FIGURES: Final[dict[str, Callable[[Vector, Vector], Drawn]]] = dict(
    zip(NAMES, (_drawn_pearson, _drawn_spearman, _drawn_kendall, _drawn_rmse), strict=True)
)


def _nothing(counts: Matrix) -> Vector:
    return np.full(len(counts), np.nan)


def _order(values: Vector) -> npt.NDArray[np.float32]:
    """For each two samples: whether the first has the greater value (1), the lesser (-1) or the same (0).

    Single precision holds sums of these exactly.
    """
    return np.sign(values[:, None] - values).astype(np.float32)


def _ratio(together: Vector, x: Vector, y: Vector) -> Vector:
    """together / sqrt(x y), NaN where one of them is nothing but rounding."""
    usable = (x > _DEGENERATE) & (y > _DEGENERATE)
    product = np.where(usable, x * y, 1.0)
    found: Vector = np.where(usable, np.clip(together / np.sqrt(product), -1.0, 1.0), np.nan)
    return found
