"""Latency histograms as figures: counts between bounds, and the quantiles of the last observations."""

from __future__ import annotations

from itertools import pairwise

import pytest

from longwire.operations.latencies import WINDOW, Latencies, quantile
from longwire.operations.metrics import Metrics


@pytest.fixture
def latencies() -> Latencies:
    return Latencies("seconds", "Seconds", "tool", ["a", "b"], [0.1, 1.0, 10.0])


def test_quantiles_are_exact_and_of_the_last_observations(latencies: Latencies) -> None:
    for number in range(1, WINDOW + 251):
        latencies.observe("a", float(number))
    [figures] = latencies.figures().values()
    assert figures.count == WINDOW + 250
    assert len(figures.window) == WINDOW
    # Of 251 to 1250, one of them each, however wide the buckets are.
    assert [quantile(figures.window, share) for share in (0.5, 0.95, 0.99, 1.0)] == [750, 1200, 1240, 1250]


def test_quantiles_of_few_observations_and_of_none(latencies: Latencies) -> None:
    assert quantile(latencies.newest(), 0.5) is None
    for seconds in (0.317, 0.257, 0.270):
        latencies.observe("a", seconds)
    assert [quantile(latencies.newest(), share) for share in (0.5, 0.99)] == [0.270, 0.317]
    assert latencies.newest(2) == (0.257, 0.270)
    assert latencies.newest(0) == ()


def test_goals_between_a_tenth_of_a_second_and_one_have_buckets() -> None:
    bounds = Metrics([]).call_seconds.bounds
    between = [bound for bound in bounds if 0.1 <= bound <= 1.0]
    assert max(after / before for before, after in pairwise(between)) <= 1.5
    assert max(after / before for before, after in pairwise(bounds)) <= 3.0
