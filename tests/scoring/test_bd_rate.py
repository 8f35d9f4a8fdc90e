"""BD-rates equal published figures, and are None, with a reason, where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.scoring.bd_rate import bd_rate, compare_curves, rising

# JCTVC-E137's two sequences, with the figures that its spreadsheet gives.
FIRST = (
    [(108048.8736, 43.6471), (61279.976, 40.3953), (33905.6656, 37.247), (18883.6928, 34.2911)],
    [(108061.2784, 43.6768), (61299.9936, 40.4232), (33928.7472, 37.2761), (18910.912, 34.3147)],
    -0.465215420752807,
)
SECOND = (
    [(40433.8848, 37.5761), (7622.7456, 35.3756), (2394.488, 33.8977), (1017.6184, 32.0603)],
    [(40370.12, 37.5982), (7587.0024, 35.4025), (2390.0944, 33.9194), (1017.0984, 32.0822)],
    -1.8779823450567612,
)
# Figures of the package bjontegaard 1.3 (scipy's PCHIP), once with unlike numbers of points.
THIRD = (
    [(686.76, 40.28), (309.58, 37.18), (157.11, 34.24), (85.95, 31.42)],
    [(893.34, 40.39), (407.8, 37.21), (204.93, 34.17), (112.75, 31.24)],
    31.379878202397627,
)
UNEVEN = (
    [(400, 62.1), (800, 78.4), (1500, 88.9), (2600, 94.2), (5200, 97.3)],
    [(310, 58.0), (640, 76.2), (1100, 87.5), (2100, 94.0), (3300, 96.1), (6100, 98.4)],
    -13.319670334366062,
)
ANCHOR = UNEVEN[0]


@pytest.mark.parametrize(("anchor", "test", "percent"), [FIRST, SECOND, THIRD, UNEVEN])
def test_published_figures(
    anchor: list[tuple[float, float]], test: list[tuple[float, float]], percent: float
) -> None:
    assert bd_rate(anchor, test) == pytest.approx(percent, abs=1e-9)


@given(st.floats(0.2, 5.0))
def test_a_constant_factor_of_bits_is_the_bd_rate(factor: float) -> None:
    test = [(rate * factor, score) for rate, score in ANCHOR]
    assert bd_rate(ANCHOR, test) == pytest.approx(100 * (factor - 1), abs=1e-9)


def curves() -> st.SearchStrategy[list[tuple[float, float]]]:
    """Rising curves of four to eight points."""
    steps = st.lists(st.tuples(st.floats(0.1, 1.5), st.floats(1.0, 12.0)), min_size=3, max_size=7)

    def curve(found: list[tuple[float, float]]) -> list[tuple[float, float]]:
        rate, score = 100.0, 40.0
        points = [(rate, score)]
        for growth, gain in found:
            rate, score = rate * (1 + growth), score + gain
            points.append((rate, score))
        return points

    return steps.map(curve)


@given(curves(), curves())
def test_the_other_direction_is_the_reciprocal(
    one: list[tuple[float, float]], other: list[tuple[float, float]]
) -> None:
    there, back = bd_rate(one, other), bd_rate(other, one)
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert (1 + there / 100) * (1 + back / 100) == pytest.approx(1.0)


@given(curves())
def test_order_and_useless_points_change_nothing(curve: list[tuple[float, float]]) -> None:
    dearer_and_worse = [(rate * 1.01, score - 0.5) for rate, score in curve]
    assert rising([*reversed(curve), *dearer_and_worse]) == curve
    assert bd_rate(curve, [*dearer_and_worse, *curve]) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (ANCHOR[:3], "the other curve has 3 rising points"),
        ([(rate, 60.0) for rate, _ in ANCHOR], "has 1 rising points"),
        ([(rate, score - 34.0) for rate, score in ANCHOR], "common to both curves: 62.10 to 97.30"),
        ([(rate, float("nan")) for rate, _ in ANCHOR], "has 0 rising points"),
    ],
)
def test_no_bd_rate_has_a_reason(test: list[tuple[float, float]], said: str) -> None:
    found = compare_curves(ANCHOR, test)
    assert found.percent is None
    assert found.reason is not None
    assert said in found.reason
    assert bd_rate(ANCHOR, test) is None
