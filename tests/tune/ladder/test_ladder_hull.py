"""The hull: concave, above every sample, and made of samples."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.scoring.bd_rate import pareto
from acuity.tune.ladder.rungs import convex_hull, near_hull, score_at


class Sample(NamedTuple):
    bitrate_kbps: float
    vmaf: float


# Whole numbers, so that the arithmetic of the checks below is exact.
samples = st.lists(
    st.builds(Sample, st.integers(1, 20000).map(float), st.integers(0, 100).map(float)),
    min_size=1,
    max_size=40,
)


@given(samples)
def test_the_front_has_every_sample_that_nothing_beats(found: list[Sample]) -> None:
    front = pareto(found, tuple)
    for sample in found:
        beaten = any(
            other.bitrate_kbps <= sample.bitrate_kbps and other.vmaf >= sample.vmaf and other != sample
            for other in found
        )
        assert beaten != (sample in front)


@given(samples)
def test_the_hull_is_concave_and_rising(found: list[Sample]) -> None:
    hull = convex_hull(found)
    assert set(hull) <= set(found)
    gains = []
    for low, high in pairwise(hull):
        assert high.bitrate_kbps > low.bitrate_kbps
        assert high.vmaf > low.vmaf
        gains.append((high.vmaf - low.vmaf) / (high.bitrate_kbps - low.bitrate_kbps))
    assert gains == sorted(gains, reverse=True)
    assert len(set(gains)) == len(gains)


@given(samples)
def test_no_sample_is_above_the_hull(found: list[Sample]) -> None:
    hull = convex_hull(found)
    assert hull[0].bitrate_kbps == min(sample.bitrate_kbps for sample in found)
    assert hull[-1].vmaf == max(sample.vmaf for sample in found)
    for sample in found:
        at = score_at(hull, sample.bitrate_kbps)
        assert at is not None
        assert at >= sample.vmaf - 1e-9


@given(samples)
def test_more_samples_never_lower_the_hull(found: list[Sample]) -> None:
    few = convex_hull(found[: len(found) // 2])
    many = convex_hull(found)
    for sample in few:
        assert (score_at(many, sample.bitrate_kbps) or 0.0) >= sample.vmaf - 1e-9


@given(samples, st.floats(0.0, 20.0))
def test_near_the_hull_is_between_hull_and_front(found: list[Sample], below: float) -> None:
    near = near_hull(found, below)
    assert set(convex_hull(found)) <= set(near) <= set(pareto(found, tuple))
    assert near_hull(found, 200.0) == pareto(found, tuple)


def test_a_sample_without_a_score_is_left_out() -> None:
    assert convex_hull([Sample(100.0, float("nan")), Sample(200.0, 50.0)]) == [Sample(200.0, 50.0)]
    assert convex_hull([]) == []


def test_scores_between_samples_are_on_the_line() -> None:
    curve = [Sample(100.0, 40.0), Sample(300.0, 80.0)]
    assert score_at(curve, 99.0) is None
    assert score_at(curve, 150.0) == pytest.approx(50.0)
    assert score_at(curve, 900.0) == 80.0
