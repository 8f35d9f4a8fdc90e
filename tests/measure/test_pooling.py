"""Pooling: libvmaf's arithmetic for its four methods, linear interpolation for percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import FeatureError
from acuity.measure.pooling import pool

scores = st.lists(st.floats(0, 100), min_size=1, max_size=60)


@given(scores)
def test_sums_run_from_first_to_last(values: list[float]) -> None:
    total = inverse = 0.0
    for value in values:
        total += value
        inverse += 1.0 / (value + 1.0)
    array = np.array(values)
    assert pool(array) == pool(array, "mean") == total / len(values)
    assert pool(array, "harmonic_mean") == len(values) / inverse - 1.0
    assert pool(array, "min") == min(values)
    assert pool(array, "max") == max(values)


@given(scores, st.floats(0, 100))
def test_percentiles(values: list[float], percent: float) -> None:
    found = pool(np.array(values), ("percentile", percent))
    assert found == pytest.approx(np.percentile(values, percent), abs=1e-9)


@pytest.mark.parametrize("method", ["min", "max", "mean", "harmonic_mean", "p5"])
def test_infinitely_good_frames_are_infinitely_good_together(method: str) -> None:
    assert pool(np.array([np.inf, np.inf]), method) == np.inf


def test_median_and_deviation() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert pool(values, "median") == 3.0
    assert pool(values, "stddev") == values.std()


def test_columns_of_other_types_and_missing_numbers() -> None:
    """Sums of bytes would begin again at 256, and a missing number has no place in an order."""
    assert pool(np.array([200, 200, 200], np.uint8)) == 200.0
    holes = np.array([1.0, np.nan, 3.0, 2.0, 0.0])
    for method, expected in [("min", np.nan), ("max", np.nan), ("mean", np.nan), ("median", 2.0)]:
        np.testing.assert_equal(pool(holes, method), expected)


def test_percentiles_by_name() -> None:
    values = np.arange(101.0)
    assert pool(values, "p5") == 5.0
    assert pool(values, "p2.5") == 2.5
    assert pool(values, "p0") == 0.0
    assert pool(values, "p100") == 100.0


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("mode",
         "unknown pooling method 'mode': use one of min, max, mean, harmonic_mean, median, stddev, or p"),
        ("pony", "unknown pooling method"),
        (("quantile", 5.0), "unknown pooling method"),
        ("p101", "percentile 101 must be between 0 and 100"),
        (("percentile", -1.0), "must be between 0 and 100"),
        (("percentile", float("nan")), "must be between 0 and 100"),
    ],
)  # fmt: skip
def test_unknown_methods_are_explained(method: str, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        pool(np.array([1.0, 2.0]), method)


def test_nothing_to_pool() -> None:
    with pytest.raises(FeatureError, match="no frame"):
        pool(np.array([]))
