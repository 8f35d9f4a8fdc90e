"""The sweep, on curves that are computed: as good a hull as the whole grid's, of fewer samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.tune.ladder.rungs import choose_rungs, convex_hull, ends, score_at, select_rungs
from acuity.tune.ladder.sweep import MeasuredPoint, Size, Sweep

SIZES: list[Size] = [(1920, 1080), (1280, 720), (640, 360)]
GRID = [20, 25, 30, 35, 40]


class Content(NamedTuple):
    """A video that is hard to encode, or not, and loses more or less when it is made smaller."""

    bits: float  # kbit/s of the full size at step 23
    detail: float  # VMAF that halving the size costs at best
    growth: float = 6.0  # steps that halve the rate

    def sample(self, size: Size, step: int) -> tuple[float, float]:
        """The bitrate and score: a ceiling by the size, less a loss by the quality."""
        area = size[0] * size[1] / (1920 * 1080)
        rate = self.bits * area**0.8 * 2 ** ((23 - step) / self.growth)
        ceiling = 99.5 - self.detail * math.log2(1 / area) / 2
        loss = 0.9 * 2 ** ((step - 12) / 6.5) * (0.55 + 0.45 * area**0.3)
        return rate, max(ceiling - loss, 5.0)


def run(sweep: Sweep, content: Content, failing: Sequence[tuple[Size, int]] = ()) -> int:
    """Make all the samples that a sweep asks for; how many they were."""
    made = 0
    while wishes := sweep.next():
        assert len(set(wishes)) == len(wishes)
        for wish in wishes:
            made += 1
            if wish not in failing:
                sweep.add(*wish, *content.sample(*wish))
    return made


contents = st.builds(Content, st.floats(500, 20000), st.floats(1.0, 14.0), st.floats(5.0, 7.0))
target_lists = st.lists(st.sampled_from([96.0, 95.0, 93.0, 90.0, 85.0, 80.0, 70.0]), min_size=2, max_size=4)


def whole(content: Content, targets: Sequence[float]) -> Sweep:
    sweep = Sweep(SIZES, GRID, targets, whole=True)
    assert run(sweep, content) == len(SIZES) * len(GRID)
    return sweep


@given(contents, target_lists)
def test_the_hull_is_as_good_as_that_of_the_whole_grid(content: Content, targets: list[float]) -> None:
    sweep = Sweep(SIZES, GRID, targets)
    run(sweep, content)
    full, ours = convex_hull(whole(content, targets).measured), convex_hull(sweep.measured)
    bottom, top = ends(full, targets)
    for sample in full[bottom : top + 1]:
        at = score_at(ours, sample.bitrate_kbps)
        # More bits than the best rung needs are never needed.
        assert at is not None
        assert at >= min(sample.vmaf, max(targets)) - 1e-6


@given(contents, target_lists)
def test_fewer_than_three_fifths_of_a_sweep_for_each_target(content: Content, targets: list[float]) -> None:
    sweep = Sweep(SIZES, GRID, targets, count=5)
    most = len(SIZES) * len(GRID) * len(set(targets))
    if len(set(targets)) > 1:
        assert run(sweep, content) <= 0.6 * most


def test_a_sample_that_fails_is_not_asked_for_again() -> None:
    content = Content(4000, 6)
    failing = [(SIZES[0], step) for step in range(64)]
    sweep = Sweep(SIZES, GRID, [95, 80])
    run(sweep, content, failing)
    assert {sample.size for sample in sweep.measured} == set(SIZES[1:])


@pytest.mark.parametrize("targets", [[90.0, 50.0], [90.0, 30.0], [99.0, 80.0]])
@pytest.mark.parametrize("grid", [GRID, [20, 30, 40, 50]])
def test_both_ends_come_to_their_targets_whatever_the_grid(grid: list[int], targets: list[float]) -> None:
    content = Content(4000, 6)
    sweep = Sweep([SIZES[0]], grid, targets, last_step=63)
    run(sweep, content)
    rungs = select_rungs(convex_hull(sweep.measured), targets).rungs
    for rung, target in ((rungs[0], targets[-1]), (rungs[-1], targets[0])):
        assert rung.vmaf >= target
        assert content.sample(rung.size, rung.step + 1)[1] < target or rung.vmaf < target + 0.5


@pytest.mark.parametrize("spacing", ["log_bitrate", "vmaf"])
def test_rungs_are_more_even_than_those_of_the_grid(spacing: str) -> None:
    content, targets = Content(6000, 6), [96.0, 60.0]
    sweep = Sweep(SIZES, GRID, targets, spacing=spacing)
    run(sweep, content)

    def unevenness(samples: list[MeasuredPoint]) -> float:
        rungs = choose_rungs(samples, targets, 5, spacing).rungs
        places = [math.log(rung.bitrate_kbps) if spacing == "log_bitrate" else rung.vmaf for rung in rungs]
        gaps = [after - before for before, after in pairwise(places)]
        return max(gaps) / min(gaps)

    grid = [sample for sample in sweep.measured if sample.step in GRID]
    assert unevenness(sweep.measured) <= unevenness(grid)
