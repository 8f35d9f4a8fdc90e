"""Plans by shot: each shot at the target, or bits divided among shots at equal slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shot_plans import settings_of, write_shots

from acuity.errors import TuneError
from acuity.tune.clip import Clip, Part
from acuity.tune.points.point import Cache, Point, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Stopped, Tally
from acuity.tune.search.target import Target
from acuity.tune.shots.allocation import Curve, ShotChoice, best_score, least_bits
from acuity.tune.shots.detect import Detection, known_shots
from acuity.tune.shots.per_shot import MeasuredShot, believed_curve, measured_curve, plan_per_shot
from acuity.tune.shots.plan import ShotPlan

# Of each shot, by its first frame: bits at crf 23, and VMAF there and its loss a step.
SHOTS = {0: (2e4, 97.0, 0.4), 14: (4e5, 88.0, 1.6), 28: (1e5, 93.0, 1.0)}


class FormulaBench:
    """A workbench whose points are computed instead of encoded."""

    def __init__(self) -> None:
        self.scoring, self.cache, self.tally, self.cores = PointScoring(), Cache(None), Tally(None), 2
        self.encodes, self.check = 0, None

    def point(self, clip: Clip, settings: Any, quality: int) -> Point:
        assert clip.parts is not None
        self.encodes += 1
        return formula(clip.parts[0].start, quality, clip.parts[0].end - clip.parts[0].start)

    def known(self, *about: Any) -> dict[int, Point]:
        return {}

    def made_of(self, clip: Clip) -> list[Any]:
        return []

    def points(self, wanted: Iterable[tuple[Clip, Any, int]]) -> Iterator[Point | Exception]:
        for each in wanted:
            yield self.point(*each)


def planned(clip: Clip, **wanted: Any) -> ShotPlan:
    """A plan of points that are computed."""
    bench: Any = FormulaBench()
    return plan_per_shot(bench, clip, settings_of("libx264"), **wanted)


def formula(start: int, quality: int, frames: int = 14) -> Point:
    bits, score, loss = SHOTS[start]
    value = min(100.0, score - loss * (quality - 23) - 0.02 * (quality - 23) ** 2 * np.sign(quality - 23))
    sizes = np.full(frames, int(bits * 2 ** (-(quality - 23) / 6) / 8 / frames), np.int64)
    values = np.full(frames, max(value, 0.0))
    return Point(quality, int(sizes.sum()), sizes, Fraction(24), {"vmaf": values}, "vmaf", "formula", 0.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return write_shots(tmp_path_factory.mktemp("clips") / "shots.y4m")


FIGURES = [
    [(point.pool(), point.bytes) for point in (formula(start, quality) for quality in range(12, 46))]
    for start in SHOTS
]
# The mean score and the bytes of every choice of three qualities.
EVERY = [
    (sum(score for score, _ in chosen) / 3, sum(size for _, size in chosen))
    for chosen in itertools.product(*FIGURES)
]


@pytest.mark.parametrize("target", [85.0, 92.0, 95.0])
def test_a_mean_target_is_met_with_nearly_the_fewest_bits(clip: Clip, target: float) -> None:
    plan = planned(clip, target=Target(target), division="mean")
    assert plan.met
    assert plan.predicted >= target
    assert plan.bytes <= 1.02 * min(size for score, size in EVERY if score >= target)
    assert plan.points == plan.encodes <= 18, "six of a shot"
    assert [shot.part for shot in plan.shots] == [Part(0, 14), Part(14, 28), Part(28, 42)]


@pytest.mark.parametrize("kbps", [60.0, 200.0, 700.0])
def test_a_bitrate_is_kept_and_gives_nearly_the_best_score(clip: Clip, kbps: float) -> None:
    plan = planned(clip, bitrate_kbps=kbps)
    assert plan.division == "bitrate"
    assert plan.bitrate_kbps <= kbps
    limit = kbps * 1000 / 8 * 42 / 24
    assert plan.predicted >= max(score for score, size in EVERY if size <= limit) - 0.3
    assert plan.document()["target"] is None
    assert plan.document()["bitrate_limit_kbps"] == kbps


def test_what_cannot_be_is_said(clip: Clip) -> None:
    poor = planned(clip, target=Target(95.0), division="mean", quality_range=(30, 40))
    assert not poor.met
    assert {shot.quality for shot in poor.shots} == {30}
    assert "can't reach VMAF 95" in poor.notes[0]
    tight = planned(clip, bitrate_kbps=1.0)
    assert not tight.met
    assert "the least is" in tight.notes[0]
    for bad in ({"bitrate_kbps": 0.0}, {"target": Target(90.0, pool="p5"), "division": "mean"}):
        with pytest.raises(TuneError):
            planned(clip, **bad)


def test_shots_that_may_need_fewer_bits_or_miss_the_target_are_named(clip: Clip) -> None:
    hasty = planned(clip, target=Target(80.0), quality_range=(2, 45), max_encodes=2)
    said = "2 encodes weren't enough to rule out a cheaper value"
    assert any(note.startswith("shot") and said in note for note in hasty.notes)
    poor = planned(clip, target=Target(95.5), quality_range=(20, 45))
    assert "shot 2 (frames 14 to 27) can't reach VMAF 95.5" in poor.notes[0]


def test_a_harmonic_mean_is_met(clip: Clip) -> None:
    target = Target(90.0, pool="harmonic_mean")
    plan = planned(clip, target=target, division="mean")
    assert plan.met
    assert 90 <= plan.predicted < 91.5


def test_shots_are_remembered(clip: Clip) -> None:
    cache, seen = Cache(None), []
    found = known_shots(cache, clip, Detection())
    assert known_shots(cache, clip, Detection(), progress=lambda *now: seen.append(now)) == found
    assert seen == []
    known_shots(cache, clip, Detection(threshold=0.3), progress=lambda *now: seen.append(now))
    assert len(seen) == 42


def test_each_shot_meets_the_target(clip: Clip) -> None:
    bench = Workbench(PointScoring(), cores=2)
    plan = plan_per_shot(bench, clip, settings_of("libx264"), target=Target(85.0))
    assert plan.met
    assert all(shot.met and shot.point.pool() >= 85 for shot in plan.shots)
    assert len({shot.quality for shot in plan.shots}) > 1
    again = plan_per_shot(bench, clip, settings_of("libx264"), target=Target(85.0))
    assert again.encodes == 0
    assert again.csv() == plan.csv()


@pytest.mark.parametrize("division", ["each", "mean"])
def test_a_stop_ends_the_encodes(clip: Clip, division: Any) -> None:
    bench = Workbench(PointScoring(), cores=2, listener=lambda _: bench.stop())
    with pytest.raises(Stopped):
        plan_per_shot(bench, clip, settings_of("libx264"), target=Target(85.0), division=division)
    assert bench.encodes < 6


# ---- Bits go to the shots where they raise the mean score most, by what was measured  ----


# Two shots of equal length: one is nearly perfect with few bits, the other needs many.
EASY = [ShotChoice(20, 400, 99), ShotChoice(25, 200, 98), ShotChoice(30, 100, 96), ShotChoice(35, 50, 90)]
HARD = [
    *(ShotChoice(20, 4000, 98), ShotChoice(25, 2000, 92)),
    *(ShotChoice(30, 1000, 80), ShotChoice(35, 500, 60)),
]
BOTH = [Curve(10, tuple(EASY)), Curve(10, tuple(HARD))]

scores = st.floats(0, 100, allow_nan=False)
choices = st.builds(ShotChoice, st.integers(0, 51), st.floats(1, 1e4), scores)
curves = st.lists(
    st.builds(Curve, st.integers(1, 50), st.lists(choices, min_size=1, max_size=4).map(tuple)),
    min_size=1,
    max_size=4,
)


def test_a_mean_target_takes_bits_from_where_they_give_little() -> None:
    found = least_bits(BOTH, 95)
    assert [choice.quality for choice in found.choices] == [25, 25]
    assert found.score == pytest.approx(95)


def test_a_budget_is_kept() -> None:
    found = best_score(BOTH, 2300)
    assert found.bits <= 2300
    assert [choice.quality for choice in found.choices] == [25, 25]
    assert not best_score(BOTH, 100).met


@given(curves, scores)
def test_a_mean_target_costs_little_more_than_the_best_division(shots: list[Curve], target: float) -> None:
    found = least_bits(shots, target)
    frames = sum(shot.frames for shot in shots)

    def mean(chosen: tuple[ShotChoice, ...]) -> float:
        return sum(one.score * shot.frames for one, shot in zip(chosen, shots, strict=True)) / frames

    every = list(itertools.product(*(shot.choices for shot in shots)))
    able = [sum(one.bits for one in chosen) for chosen in every if mean(chosen) >= target]
    if found.met:
        assert found.score >= target - 1e-6
        # The relaxed problem's gap is at most one step of one shot.
        step = max(max(c.bits for c in shot.choices) - min(c.bits for c in shot.choices) for shot in shots)
        assert found.bits <= min(able, default=found.bits) + step + 1e-6
    else:
        assert found.score == pytest.approx(max(mean(chosen) for chosen in every))


@given(curves, st.floats(1, 4e4))
def test_a_budget_is_never_exceeded(shots: list[Curve], budget: float) -> None:
    found = best_score(shots, budget)
    least = sum(min(choice.bits for choice in shot.choices) for shot in shots)
    assert found.met == (found.bits <= budget + 1e-6)
    assert found.met or least > budget - 1e-6


def test_a_curve_without_figures_is_refused() -> None:
    with pytest.raises(TuneError):
        Curve(10, (ShotChoice(20, float("nan"), 90),))


KNOWN = {20: MeasuredShot(8e5, 98.0), 26: MeasuredShot(4e5, 95.0), 32: MeasuredShot(2e5, 86.0)}


def same(step: int) -> int:
    return step


def test_what_was_measured_stays_as_it_is() -> None:
    believed = {choice.quality: choice for choice in believed_curve(10, KNOWN, same, (0, 51)).choices}
    for step, measured in KNOWN.items():
        assert believed[step][1:] == measured
    assert [choice.quality for choice in measured_curve(10, KNOWN, same).choices] == [20, 26, 32]


def test_between_and_beyond_bits_and_scores_fall_with_the_step() -> None:
    choices = sorted(believed_curve(10, KNOWN, same, (15, 36)).choices, key=lambda choice: choice.quality)
    assert [choice.quality for choice in choices] == list(range(15, 37))
    for better, worse in itertools.pairwise(choices):
        assert better.bits > worse.bits
        assert better.score > worse.score
    # Halving every six steps, as measured.
    assert choices[23 - 15].bits == pytest.approx(8e5 / 2**0.5, rel=0.01)


def test_one_point_is_enough_to_begin() -> None:
    believed = {
        c.quality: c for c in believed_curve(10, {30: MeasuredShot(1e5, 90.0)}, same, (0, 51)).choices
    }
    assert believed[36].bits == pytest.approx(5e4)
    assert set(believed) == set(range(22, 39))
