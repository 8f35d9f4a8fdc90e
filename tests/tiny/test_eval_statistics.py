"""Correlations against SciPy's, and bootstrap intervals against cases whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from acuity.tiny.evaluate.bootstrap import DRAWS, MOST, Draws, Replicates, compare, replicate
from acuity.tiny.evaluate.statistics import FEWEST, NAMES, Vector, figures_of

EXACT = 1e-12


def pair(count: int, seed: int, *, digits: int | None = None, scale: float = 1.0) -> tuple[Vector, Vector]:
    random = np.random.default_rng(seed)
    x = random.normal(50, 15, count)
    y = x + random.normal(0, 10, count)
    if digits is not None:
        x, y = x.round(digits), y.round(digits)
    return x * scale, y * scale


@pytest.mark.parametrize("count", [2, 3, 10, 137, 5000])
@pytest.mark.parametrize("digits", [None, 0, -1])  # with ties, and with many
@pytest.mark.parametrize("scale", [1.0, 1e-9, -1e150])
def test_correlations_are_scipys(count: int, digits: int | None, scale: float) -> None:
    x, y = pair(count, count, digits=digits, scale=scale)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        x[0] += scale * 10
        y[0] += scale * 10
    found = figures_of(x, y)
    assert found.n == count
    assert found.plcc == pytest.approx(stats.pearsonr(x, y).statistic, abs=EXACT)
    assert found.srocc == pytest.approx(stats.spearmanr(x, y).statistic, abs=EXACT)
    assert found.krocc == pytest.approx(stats.kendalltau(x, y).statistic, abs=EXACT)
    assert found.rmse == pytest.approx(
        math.sqrt(np.square(x / scale - y / scale).mean()) * abs(scale), rel=1e-9
    )


@pytest.mark.parametrize("constant", [0.0, 77.0, 1e-30])
def test_no_variance_is_no_correlation_but_still_an_error(constant: float) -> None:
    y = np.array([1.0, 2.0, 3.0])
    found = figures_of(np.full(3, constant), y)
    assert (found.plcc, found.srocc, found.krocc) == (None, None, None)
    assert found.rmse == pytest.approx(math.sqrt(np.square(constant - y).mean()))
    assert figures_of(y, np.full(3, constant)).plcc is None


@pytest.mark.parametrize("count", range(3, 40))
def test_equal_orders_correlate_by_one(count: int) -> None:
    found = figures_of(np.arange(count) ** 2.0, np.arange(count, dtype=np.float64))
    assert found.srocc == 1.0


def test_means_that_differ_by_rounding_are_constant() -> None:
    values = np.array([np.full(rows, 0.1).sum() / rows for rows in (3, 7, 10, 11)])
    assert len(set(values)) > 1
    assert figures_of(values, np.arange(4.0)).plcc is None


@pytest.mark.parametrize("digits", [None, -1])
def test_figures_of_draws_are_those_of_the_drawn_samples(digits: int | None) -> None:
    x, y = pair(40, 7, digits=digits)
    draws = Draws(40)
    found = replicate(draws, x, y)
    assert draws.counts.shape == (DRAWS[1], 40)
    assert Draws(MOST).counts.shape == (DRAWS[0], MOST)
    assert (draws.counts.sum(axis=1) == 40).all()
    for number in range(0, DRAWS[1], 1000):
        taken = np.repeat(np.arange(40), draws.counts[number].astype(int))
        expected = figures_of(x[taken], y[taken])
        for name in NAMES:
            assert found.values[name][number] == pytest.approx(getattr(expected, name), abs=1e-9), name


def test_draws_are_the_same_every_time() -> None:
    assert (Draws(30).counts == Draws(30).counts).all()


def interval_of(found: Replicates, name: str, figure: float | None) -> tuple[float, float]:
    interval = found.interval(name, figure)
    assert interval is not None
    return interval


@pytest.mark.parametrize(("count", "strength"), [(20, 0.5), (40, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(count: int, strength: float) -> None:
    """Of pairs with a known correlation; 120 trials of a 95 % interval err by 2 % themselves."""
    truth = {
        "plcc": strength,
        "srocc": 6 / math.pi * math.asin(strength / 2),
        "krocc": 2 / math.pi * math.asin(strength),
        "rmse": math.sqrt(2 - 2 * strength),
    }
    random = np.random.default_rng(3)
    draws = Draws(count, 1000)
    hits = dict.fromkeys(NAMES, 0)
    for _ in range(120):
        x = random.normal(size=count)
        y = strength * x + math.sqrt(1 - strength**2) * random.normal(size=count)
        found, figures = replicate(draws, x, y), figures_of(x, y)
        for name in NAMES:
            low, high = interval_of(found, name, getattr(figures, name))
            hits[name] += low <= truth[name] <= high
    for name in NAMES:
        assert 0.87 <= hits[name] / 120 <= 1.0, (name, hits)


def test_intervals_of_many_samples_are_as_narrow_as_fishers() -> None:
    """The samples are more than are drawn from, so this is about the shrinking, too."""
    count = 20 * MOST
    random = np.random.default_rng(4)
    x = random.normal(size=count)
    y = 0.8 * x + 0.6 * random.normal(size=count)
    figures = figures_of(x, y)
    low, high = interval_of(replicate(Draws(count), x, y), "plcc", figures.plcc)
    expected = stats.pearsonr(x, y).confidence_interval(0.95)
    assert low == pytest.approx(expected.low, abs=0.15 * (expected.high - expected.low))
    assert high == pytest.approx(expected.high, abs=0.15 * (expected.high - expected.low))


def test_a_perfect_model_has_a_certain_correlation() -> None:
    x = np.arange(20.0)
    found = replicate(Draws(20), x, 2 * x)
    assert interval_of(found, "plcc", 1.0) == pytest.approx((1.0, 1.0))
    assert interval_of(found, "krocc", 1.0) == pytest.approx((1.0, 1.0))


def test_what_has_no_figure_has_no_interval() -> None:
    x = np.arange(20.0)
    found = replicate(Draws(20), np.full(20, 5.0), x)
    assert found.interval("plcc", None) is None
    assert interval_of(found, "rmse", 5.0)[0] > 0
    rare = np.zeros(FEWEST)
    rare[0] = 1.0  # a third of all draws lack it
    assert replicate(Draws(FEWEST), rare, np.arange(FEWEST + 0.0)).interval("plcc", -0.5) is None


def p_value_of(first: Vector, second: Vector, target: Vector) -> float:
    draws = Draws(len(target))
    a, b = (figures_of(each, target).plcc for each in (first, second))
    assert a is not None
    assert b is not None
    found = compare(replicate(draws, first, target), replicate(draws, second, target), a - b)
    assert found is not None
    assert found.significant == (found.p_value < 0.05)
    assert found.ci95[0] - 1e-9 <= found.difference <= found.ci95[1] + 1e-9
    return found.p_value


def test_models_as_good_as_each_other_are_rarely_told_apart() -> None:
    random = np.random.default_rng(5)
    rejected = 0
    for _ in range(40):
        target = random.normal(size=60)
        first, second = (target + random.normal(size=60) for _ in range(2))
        rejected += p_value_of(first, second, target) < 0.05
    assert rejected <= 8  # 2 are expected, and 9 or more in one trial of 5,000


def test_a_better_model_is_told_apart() -> None:
    random = np.random.default_rng(6)
    target = random.normal(size=80)
    good, bad = target + 0.3 * random.normal(size=80), target + 1.5 * random.normal(size=80)
    assert p_value_of(good, bad, target) < 0.01
    assert p_value_of(good, 2 * good + 1, target) == 1.0  # PLCC doesn't see a scale
