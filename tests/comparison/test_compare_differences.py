"""Differences frame by frame: exact means, intervals that cover, and no frame that only one encode has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.comparison.differences import EncodeFigures, block_length, difference, interval
from made_reports import report

Floats = NDArray[np.float64]


def scored(name: str, values: Any, frames: Any = None, rate: int | None = 25) -> EncodeFigures:
    return EncodeFigures(name, report(values, frames, rate), "vmaf")


def noisy(seed: int, count: int, *, mean: float = 0.0, kept: float = 0.9) -> Floats:
    """Figures that depend on their neighbours."""
    random = np.random.default_rng(seed)
    steps = random.normal(0, 1, count + 200)
    values = np.zeros(count + 200)
    for row in range(1, len(values)):
        values[row] = kept * values[row - 1] + steps[row]
    return values[200:] + mean


def test_the_mean_and_the_share_of_better_frames() -> None:
    found = difference(scored("a", [90.0, 80.0, 70.0]), scored("b", [80.0, 85.0, 60.0]))
    assert found is not None
    assert (found.a, found.b, found.frames) == ("a", "b", 3)
    assert found.mean == 5.0
    assert found.better_share == pytest.approx(2 / 3)
    assert found.worse_share == pytest.approx(1 / 3)
    assert found.ci95 is None  # three frames say nothing of others
    assert found.turned().turned() == found
    lower = difference(scored("a", [1.0, 2.0]), scored("b", [3.0, 1.0]), lower_is_better=True)
    assert lower is not None
    assert lower.better_share == 0.5


def test_equal_encodes_tie_and_a_constant_step_does_not() -> None:
    same = difference(scored("a", np.full(50, 90.0)), scored("b", np.full(50, 90.0)))
    assert same is not None
    assert same.tie
    assert (same.mean, same.ci95, same.worst) == (0.0, (0.0, 0.0), [])
    step = difference(scored("a", np.arange(50.0)), scored("b", np.arange(50.0) + 0.5))
    assert step is not None
    assert not step.tie
    assert step.ci95 == (pytest.approx(-0.5), pytest.approx(-0.5))


def test_only_frames_that_both_have_count() -> None:
    nan = float("nan")
    found = difference(
        scored("a", [1.0, 2.0, nan, 4.0, 5.0], [0, 2, 4, 6, 8]), scored("b", [1.0, 1.0, 1.0], [2, 4, 6])
    )
    assert found is not None
    assert (found.frames, found.mean) == (2, 2.0)
    assert difference(scored("a", [nan, nan]), scored("b", [1.0, 2.0])) is None
    assert difference(scored("a", [1.0], [0]), scored("b", [1.0], [1])) is None


def test_the_greatest_are_a_second_apart_and_by_size() -> None:
    values = np.zeros(100)
    values[10:14] = [-5.0, -9.0, -8.0, 1.0]
    values[60] = 7.0
    found = difference(scored("a", values), scored("b", np.zeros(100)))
    assert found is not None
    assert [(entry.frame, entry.time, entry.difference) for entry in found.worst] == [
        (11, 0.44, -9.0),
        (60, 2.4, 7.0),
    ]


def test_blocks_are_a_second_unless_the_clip_is_short() -> None:
    assert [block_length(count, 25.0) for count in (1, 7, 40, 200, 2000)] == [1, 1, 5, 25, 25]
    every_fifth = difference(
        scored("a", np.ones(400), range(0, 2000, 5)), scored("b", np.zeros(400), range(0, 2000, 5))
    )
    assert every_fifth is not None
    assert every_fifth.block == 5
    without_rate = difference(scored("a", np.ones(400), rate=None), scored("b", np.zeros(400), rate=None))
    assert without_rate is not None
    assert (without_rate.block, without_rate.worst[0].time) == (25, None)


def test_the_interval_covers_the_true_mean() -> None:
    """Of dependent figures, where taking each frame for itself would cover in less than half the clips."""
    covered = naive = 0
    for seed in range(60):
        values = noisy(seed, 600)
        low, high = interval(values, 25)
        covered += low <= 0 <= high
        low, high = interval(values, 1)
        naive += low <= 0 <= high
    assert covered >= 51  # 85 %: short blocks and few of them cost some of the 95
    assert naive < 36


def test_long_clips_are_drawn_in_slices() -> None:
    low, high = interval(noisy(3, 170_000, mean=1.0), 24)
    assert 0.8 < low < 1.0 < high < 1.2
