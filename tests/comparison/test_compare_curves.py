"""BD-rates among encoders: against the first or a named one, for each reference, with reasons."""

from __future__ import annotations

import pytest

from acuity.comparison.encoder_curves import CurvePoint, encoder_rates
from acuity.scoring.bd_rate import bd_rate, compare_scores

ANCHOR = [(400.0, 62.1), (800.0, 78.4), (1500.0, 88.9), (2600.0, 94.2)]
TEST = [(310.0, 58.0), (640.0, 76.2), (1100.0, 87.5), (2100.0, 94.0), (3300.0, 96.1)]


def points(reference: str, encoder: str, curve: list[tuple[float, float]]) -> list[CurvePoint]:
    return [CurvePoint(reference, encoder, f"{encoder} {rate}", rate, score) for rate, score in curve]


def test_against_the_first() -> None:
    (found,) = encoder_rates([*points("r", "x264", ANCHOR), *points("r", "x265", TEST)])
    assert (found.encoder, found.against, found.reference) == ("x265", "x264", "r")
    assert found.percent == bd_rate(ANCHOR, TEST)
    assert found.score == compare_scores(ANCHOR, TEST)
    assert found.note == "scores 62.10 to 94.20"


def test_against_a_named_one() -> None:
    many = [*points("r", "a", ANCHOR), *points("r", "b", TEST), *points("r", "c", ANCHOR)]
    assert [(found.encoder, found.against) for found in encoder_rates(many, "b")] == [("a", "b"), ("c", "b")]


def test_too_few_points_name_the_encoder() -> None:
    (found,) = encoder_rates([*points("r", "x264", ANCHOR[:2]), *points("r", "x265", TEST)])
    assert found.percent is None
    assert found.score is None
    assert found.note == "x264 has 2 rising points, and a BD-rate needs at least 4"


def test_one_encode_each_is_no_curve() -> None:
    assert encoder_rates([*points("r", "a", ANCHOR[:1]), *points("r", "b", TEST[:1])]) == []
    assert encoder_rates(points("r", "a", ANCHOR)) == []


def test_several_references_have_a_mean() -> None:
    many = [
        *points("r", "a", ANCHOR),
        *points("r", "b", TEST),
        *points("s", "a", ANCHOR),
        *points("s", "b", [(rate * 2, score) for rate, score in ANCHOR]),
    ]
    first, second, mean = encoder_rates(many)
    assert second.percent == pytest.approx(100.0)
    assert first.percent is not None
    assert (mean.reference, mean.note) == (None, "mean of 2 references")
    assert mean.percent == pytest.approx((first.percent + 100.0) / 2)


def test_equal_rates_higher_scores() -> None:
    assert compare_scores(ANCHOR, [(rate, score + 2) for rate, score in ANCHOR]) == pytest.approx(2.0)
    assert compare_scores(ANCHOR, ANCHOR) == pytest.approx(0.0)
    assert compare_scores(ANCHOR, ANCHOR[:3]) is None


def test_not_a_number_is_no_point() -> None:
    many = [*points("r", "a", [*ANCHOR, (5000.0, float("nan"))]), *points("r", "b", [(0.0, 50.0), *TEST])]
    (found,) = encoder_rates(many)
    assert found.percent == bd_rate(ANCHOR, TEST)


def test_curves_that_cross_are_called_so() -> None:
    anchor = [(100.0, 40.0), (200.0, 60.0), (400.0, 80.0), (800.0, 95.0)]
    crossing = [(100.0, 50.0), (200.0, 61.0), (400.0, 78.0), (900.0, 93.0)]
    (found,) = encoder_rates([*points("r", "a", anchor), *points("r", "b", crossing)])
    assert found.percent == pytest.approx(2.04, abs=0.01)  # more bits,
    assert found.score == pytest.approx(0.39, abs=0.01)  # and better at equal rates
    assert "the curves cross" in (found.note or "")
    better = [(rate, score + 1) for rate, score in anchor]
    (found,) = encoder_rates([*points("r", "a", anchor), *points("r", "b", better)])
    assert "cross" not in (found.note or "")
