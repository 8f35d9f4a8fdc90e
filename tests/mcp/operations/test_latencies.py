"""Latency histograms as figures: counts between bounds, and the quantiles that they tell."""

from __future__ import annotations

import pytest

from acuity.mcp.operations.latencies import Latencies


@pytest.fixture
def latencies() -> Latencies:
    return Latencies("seconds", "Seconds", "tool", ["a", "b"], [0.1, 1.0, 10.0])


def test_figures_are_of_what_was_observed(latencies: Latencies) -> None:
    for seconds in (0.05, 0.1, 0.5, 99.0):
        latencies.observe("a", seconds)
    [(name, figures)] = latencies.figures().items()
    assert (name, figures.count, figures.counts) == ("a", 4, (2, 1, 0, 1))
    assert figures.seconds == pytest.approx(99.65)


@pytest.mark.parametrize(
    ("counts", "share", "seconds"),
    [
        ([10, 0, 0, 0], 0.5, 0.05),
        ([10, 10, 0, 0], 0.5, 0.1),
        ([0, 10, 0, 0], 0.5, 0.55),
        ([0, 0, 10, 0], 1.0, 10.0),
        ([0, 0, 0, 5], 0.5, 10.0),  # beyond the bounds: no more is known
        ([0, 0, 0, 0], 0.5, 10.0),
    ],
)
def test_quantiles_lie_between_the_bounds(
    latencies: Latencies, counts: list[int], share: float, seconds: float
) -> None:
    assert latencies.quantile(counts, share) == pytest.approx(seconds)
