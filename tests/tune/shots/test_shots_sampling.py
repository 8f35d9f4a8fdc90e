"""A sample stands for its source: even over time, with calm and busy shots, and its error is stated."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.tune.clip import Part
from acuity.tune.points.point import Point
from acuity.tune.shots.detect import Shot
from acuity.tune.shots.sampling import SampledPieces, sample

RATE = Fraction(24)


def film(lengths: list[int], seed: int = 1) -> list[Shot]:
    """Shots of these lengths, every third one busy."""
    ends = np.cumsum([0, *lengths])
    return [
        Shot(int(start), int(end), 0.05 if index % 3 == seed % 3 else 0.002)
        for index, (start, end) in enumerate(pairwise(ends))
    ]


def point(values: np.ndarray) -> Point:
    sizes = np.full(len(values), 1000, np.int64)
    return Point(30, int(sizes.sum()), sizes, RATE, {"vmaf": values}, "vmaf", "none", 1.0)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.floats(0.02, 1.0))
def test_pieces_lie_in_the_source_one_after_the_other(lengths: list[int], fraction: float) -> None:
    shots = film(lengths)
    found = sample(shots, RATE, sum(lengths) * fraction / 24)
    total = sum(lengths)
    assert found.total_frames == total
    assert all(0 <= part.start < part.end <= total for part in found.parts)
    assert all(one.end <= other.start for one, other in pairwise(found.parts))
    assert found.whole or found.frames <= total * fraction + 48 + 12


def test_time_and_busy_shots_have_their_share() -> None:
    shots = film([100] * 240)
    found = sample(shots, RATE, 60)
    assert 55 <= found.frames / 24 <= 65
    thirds = np.histogram([part.start for part in found.parts], 3, (0, 24000))[0]
    assert thirds.min() >= 8
    busy = sum(part.end - part.start for part in found.parts if shots[part.start // 100].activity > 0.01)
    assert 0.23 <= busy / found.frames <= 0.43, "a third of the source is busy"


def test_a_sample_of_everything_is_the_source() -> None:
    shots = film([30, 40, 50])
    found = sample(shots, RATE, 5)
    assert found.whole
    assert found.parts == (Part(0, 30), Part(30, 70), Part(70, 120))
    assert found.mean(np.arange(120.0)).standard_error == 0


def test_the_interval_holds_the_mean_of_the_source_19_times_of_20() -> None:
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(20, 200, 150).tolist()
        shots = film(lengths, seed)
        level = [rng.normal(92 if shot.activity < 0.01 else 80, 3) for shot in shots]
        frames = np.concatenate(
            [np.full(shot.frames, value) for shot, value in zip(shots, level, strict=True)]
        )
        frames += rng.normal(0, 1, len(frames))
        found = sample(shots, RATE, 60)
        answer = found.mean(np.concatenate([frames[part.start : part.end] for part in found.parts]))
        assert answer.interval is not None
        held += answer.interval[0] <= frames.mean() <= answer.interval[1]
    assert held >= 184


def test_the_error_falls_with_the_size_of_the_sample() -> None:
    shots = film([48] * 400)
    rng = np.random.default_rng(3)
    frames = np.repeat(rng.normal(90, 5, 400), 48)
    errors = []
    for seconds in (20, 80, 320):
        found = sample(shots, RATE, seconds)
        values = np.concatenate([frames[part.start : part.end] for part in found.parts])
        errors.append(found.mean(values).standard_error)
        assert "95 % interval" in found.note(found.score(point(values)))
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2] > 0  # type: ignore[operator]


def test_a_worst_frame_is_less_certain_and_a_harmonic_mean_is_not() -> None:
    found = SampledPieces((Part(0, 10), Part(50, 60)), 100, 4, 2)
    measured = point(np.r_[np.full(10, 80.0), np.full(10, 90.0)])
    least = found.score(measured, pool="min")
    assert least.value == 80
    assert least.standard_error is None
    assert "80 frames left out" in str(least.note)
    harmonic = found.score(measured, pool="harmonic_mean")
    assert harmonic.interval is not None
    assert harmonic.interval[0] < harmonic.value == measured.pool("vmaf", "harmonic_mean")
    assert found.bitrate_kbps(measured).value == pytest.approx(1000 * 8 * 24 / 1000)
