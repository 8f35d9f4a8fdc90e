"""The hull, and the rungs on it: from target to target, evenly spaced, told apart by a viewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.tune.ladder.rungs import RungChoice, choose_rungs, convex_hull, ends, score_at, select_rungs
from acuity.tune.ladder.sweep import MeasuredPoint, Size, Sweep


class Sample(NamedTuple):
    bitrate_kbps: float
    vmaf: float


RATES = (100.0, 200.0, 400.0, 800.0, 1600.0, 1900.0, 3200.0, 6400.0)
SCORES = (50.0, 65.0, 78.0, 86.0, 92.0, 93.0, 96.0, 98.0)
HULL = [Sample(*both) for both in zip(RATES, SCORES, strict=True)]


@pytest.mark.parametrize(
    ("targets", "count", "scores", "notes"),
    [
        ([95, 85, 75], 3, [78.0, 86.0, 96.0], []),
        ([92], 2, [50.0, 92.0], []),  # one target is the top of the whole hull
        (
            [99, 90],
            2,
            [92.0, 98.0],
            ["no sample reaches VMAF 99: the top rung is the best of them, with 98.00"],
        ),
    ],
)
def test_the_ends_are_the_cheapest_samples_that_reach_the_targets(
    targets: list[float], count: int, scores: list[float], notes: list[str]
) -> None:
    rungs, said = select_rungs(HULL, RungChoice(targets, count))
    assert ([rung.vmaf for rung in rungs], said) == (scores, notes)


def test_even_spacing_of_the_bitrate_or_of_the_score() -> None:
    by_rate = select_rungs(HULL, RungChoice([98, 50], 4, "log_bitrate")).rungs
    by_score = select_rungs(HULL, RungChoice([98, 50], 4, "vmaf")).rungs
    assert [rung.bitrate_kbps for rung in by_rate] == [100.0, 400.0, 1600.0, 6400.0]
    assert [rung.vmaf for rung in by_score] == [50.0, 65.0, 78.0, 98.0]
    assert select_rungs(HULL, RungChoice([98, 50], 4, "uniform")).rungs == by_score


def test_rungs_that_look_the_same_are_left_out() -> None:
    rungs, notes = select_rungs(HULL, RungChoice([96, 92], 3))
    assert [rung.vmaf for rung in rungs] == [92.0, 96.0]
    assert "2 rungs instead of 3" in notes[0]
    assert len(select_rungs(HULL, RungChoice([96, 92], 3, min_step=1.0)).rungs) == 3
    assert [rung.vmaf for rung in select_rungs(HULL, RungChoice([96, 92], 5, min_step=6.0)).rungs] == [96.0]


@given(
    st.lists(st.tuples(st.floats(1.1, 2.0), st.floats(0.1, 9.0)), min_size=1, max_size=10),
    st.lists(st.floats(30.0, 100.0), min_size=1, max_size=4),
    st.integers(1, 7),
    st.sampled_from(["log_bitrate", "vmaf"]),
    st.floats(0.0, 6.0),
)
def test_any_hull(
    steps: list[tuple[float, float]], targets: list[float], count: int, spacing: str, min_step: float
) -> None:
    hull = [Sample(100.0, 20.0)]
    for growth, gain in steps:
        hull.append(Sample(hull[-1].bitrate_kbps * growth, hull[-1].vmaf + gain))
    rungs, notes = select_rungs(hull, RungChoice(targets, count, spacing, min_step))
    assert 1 <= len(rungs) <= count
    assert all(rung in hull for rung in rungs)
    assert all(b.vmaf - a.vmaf >= min_step for a, b in pairwise(rungs))
    reaching = [sample for sample in hull if sample.vmaf >= max(targets)]
    assert rungs[-1] == (reaching[0] if reaching else hull[-1])
    assert len(notes) == (len(rungs) < count) + (not reaching)


def test_samples_just_under_a_straight_hull_serve_if_it_has_too_few() -> None:
    line = [Sample(1000.0, 60.0), Sample(2000.0, 69.8), Sample(3000.0, 79.7), Sample(4000.0, 90.0)]
    under = Sample(2500.0, 70.0)
    assert select_rungs([line[0], line[-1]], RungChoice([90, 60], 4)).rungs == [line[0], line[-1]]
    assert choose_rungs([*line, under], RungChoice([90, 60], 4)).rungs == line
    assert choose_rungs([*line, under], RungChoice([90, 60], 2)).rungs == [line[0], line[-1]]


# Whole numbers, so that the arithmetic of the checks below is exact.
samples = st.lists(
    st.builds(Sample, st.integers(1, 20000).map(float), st.integers(0, 100).map(float)),
    min_size=1,
    max_size=40,
)


@given(samples)
def test_the_hull_is_concave_and_rising_and_no_sample_is_above_it(found: list[Sample]) -> None:
    hull = convex_hull(found)
    assert set(hull) <= set(found)
    gains = []
    for low, high in pairwise(hull):
        assert high.bitrate_kbps > low.bitrate_kbps
        assert high.vmaf > low.vmaf
        gains.append((high.vmaf - low.vmaf) / (high.bitrate_kbps - low.bitrate_kbps))
    assert gains == sorted(set(gains), reverse=True)
    assert hull[0].bitrate_kbps == min(sample.bitrate_kbps for sample in found)
    assert hull[-1].vmaf == max(sample.vmaf for sample in found)
    for sample in found:
        at = score_at(hull, sample.bitrate_kbps)
        assert at is not None
        assert at >= sample.vmaf - 1e-9


# ---- The sweep, on curves that are computed: as good a hull as the whole grid's, of f ----


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


@given(contents, target_lists)
def test_the_hull_is_as_good_as_that_of_the_whole_grid_with_fewer_encodes(
    content: Content, targets: list[float]
) -> None:
    sweep = Sweep(SIZES, GRID, RungChoice(targets))
    most = len(SIZES) * len(GRID) * len(set(targets))
    assert run(sweep, content) <= 0.6 * most or len(set(targets)) == 1
    whole = [MeasuredPoint(size, step, *content.sample(size, step)) for size in SIZES for step in GRID]
    full, ours = convex_hull(whole), convex_hull(sweep.measured)
    bottom, top = ends(full, targets)
    for sample in full[bottom : top + 1]:
        at = score_at(ours, sample.bitrate_kbps)
        # More bits than the best rung needs are never needed.
        assert at is not None
        assert at >= min(sample.vmaf, max(targets)) - 1e-6


def test_a_sample_that_fails_is_not_asked_for_again() -> None:
    sweep = Sweep(SIZES, GRID, RungChoice([95, 80]))
    run(sweep, Content(4000, 6), [(SIZES[0], step) for step in range(64)])
    assert {sample.size for sample in sweep.measured} == set(SIZES[1:])


@pytest.mark.parametrize("targets", [[90.0, 50.0], [90.0, 30.0], [99.0, 80.0]])
@pytest.mark.parametrize("grid", [GRID, [20, 30, 40, 50]])
def test_both_ends_come_to_their_targets_whatever_the_grid(grid: list[int], targets: list[float]) -> None:
    content = Content(4000, 6)
    sweep = Sweep([SIZES[0]], grid, RungChoice(targets), last_step=63)
    run(sweep, content)
    rungs = select_rungs(convex_hull(sweep.measured), RungChoice(targets)).rungs
    for rung, target in ((rungs[0], targets[-1]), (rungs[-1], targets[0])):
        assert rung.vmaf >= target
        assert content.sample(rung.size, rung.step + 1)[1] < target or rung.vmaf < target + 0.5


@pytest.mark.parametrize("spacing", ["log_bitrate", "vmaf"])
def test_rungs_are_more_even_than_those_of_the_grid(spacing: str) -> None:
    content, targets = Content(6000, 6), [96.0, 60.0]
    sweep = Sweep(SIZES, GRID, RungChoice(targets, spacing=spacing))
    run(sweep, content)

    def unevenness(samples: list[MeasuredPoint]) -> float:
        rungs = choose_rungs(samples, RungChoice(targets, 5, spacing)).rungs
        places = [math.log(rung.bitrate_kbps) if spacing == "log_bitrate" else rung.vmaf for rung in rungs]
        gaps = [after - before for before, after in pairwise(places)]
        return max(gaps) / min(gaps)

    grid = [sample for sample in sweep.measured if sample.step in GRID]
    assert unevenness(sweep.measured) <= unevenness(grid)
