"""Plans by shot: each shot at the target, or bits divided among shots at equal slopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from shot_plans import settings_of, write_shots

from acuity.errors import TuneError
from acuity.tune.clip import Clip, Part
from acuity.tune.points.cache import Cache
from acuity.tune.points.point import Point, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Stopped, Tally
from acuity.tune.search.target import Target
from acuity.tune.shots.detect import Detection, known_shots
from acuity.tune.shots.per_shot import plan_per_shot

# Of each shot, by its first frame: bits at crf 23, and VMAF there and its loss a step.
SHOTS = {0: (2e4, 97.0, 0.4), 14: (4e5, 88.0, 1.6), 28: (1e5, 93.0, 1.0)}


class FormulaBench:
    """A workbench whose points are computed instead of encoded."""

    def __init__(self) -> None:
        self.scoring, self.cache, self.tally, self.cores = PointScoring(), Cache(None), Tally(None), 2
        self.encodes, self.stopped = 0, False

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


def formula(start: int, quality: int, frames: int = 14) -> Point:
    bits, score, loss = SHOTS[start]
    value = min(100.0, score - loss * (quality - 23) - 0.02 * (quality - 23) ** 2 * np.sign(quality - 23))
    sizes = np.full(frames, int(bits * 2 ** (-(quality - 23) / 6) / 8 / frames), np.int64)
    values = np.full(frames, max(value, 0.0))
    return Point(quality, int(sizes.sum()), sizes, Fraction(24), {"vmaf": values}, "vmaf", "formula", 0.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return write_shots(tmp_path_factory.mktemp("clips") / "shots.y4m")


def every_plan() -> Iterator[tuple[float, int]]:
    """The mean score and the bytes of every choice of three qualities."""
    points = [[formula(start, quality) for quality in range(12, 46)] for start in SHOTS]
    figures = [[(point.pool(), point.bytes) for point in shot] for shot in points]
    for chosen in itertools.product(*figures):
        yield sum(score for score, _ in chosen) / 3, sum(size for _, size in chosen)


EVERY = list(every_plan())


@pytest.mark.parametrize("target", [85.0, 92.0, 95.0])
def test_a_mean_target_is_met_with_nearly_the_fewest_bits(clip: Clip, target: float) -> None:
    bench: Any = FormulaBench()
    plan = plan_per_shot(bench, clip, settings_of("libx264"), target=Target(target), division="mean")
    assert plan.met
    assert plan.predicted >= target
    assert plan.bytes <= 1.02 * min(size for score, size in EVERY if score >= target)
    assert plan.points == plan.encodes <= 18, "six of a shot"
    assert [shot.part for shot in plan.shots] == [Part(0, 14), Part(14, 28), Part(28, 42)]


@pytest.mark.parametrize("kbps", [60.0, 200.0, 700.0])
def test_a_bitrate_is_kept_and_gives_nearly_the_best_score(clip: Clip, kbps: float) -> None:
    bench: Any = FormulaBench()
    plan = plan_per_shot(bench, clip, settings_of("libx264"), bitrate_kbps=kbps)
    assert plan.division == "bitrate"
    assert plan.bitrate_kbps <= kbps
    limit = kbps * 1000 / 8 * 42 / 24
    assert plan.predicted >= max(score for score, size in EVERY if size <= limit) - 0.3
    assert plan.document()["target"] is None
    assert plan.document()["bitrate_limit_kbps"] == kbps


def test_what_cannot_be_is_said(clip: Clip) -> None:
    bench: Any = FormulaBench()
    settings = settings_of("libx264")
    poor = plan_per_shot(bench, clip, settings, target=Target(95.0), division="mean", quality_range=(30, 40))
    assert not poor.met
    assert {shot.quality for shot in poor.shots} == {30}
    assert "can't reach VMAF 95" in poor.notes[0]
    tight = plan_per_shot(bench, clip, settings, bitrate_kbps=1.0)
    assert not tight.met
    assert "the least is" in tight.notes[0]
    for bad in ({"bitrate_kbps": 0.0}, {"target": Target(90.0, pool="p5"), "division": "mean"}):
        with pytest.raises(TuneError):
            plan_per_shot(bench, clip, settings, **bad)  # type: ignore[arg-type]


def test_shots_that_may_need_fewer_bits_or_miss_the_target_are_named(clip: Clip) -> None:
    bench: Any = FormulaBench()
    settings = settings_of("libx264")
    hasty = plan_per_shot(
        bench, clip, settings, target=Target(80.0), quality_range=(2, 45), tolerance=0, max_encodes=2
    )
    assert any(
        note.startswith("shot") and "2 encodes weren't enough to rule out a cheaper value" in note
        for note in hasty.notes
    )
    poor = plan_per_shot(bench, clip, settings, target=Target(95.5), quality_range=(20, 45))
    assert "shot 2 (frames 14 to 27) can't reach VMAF 95.5" in poor.notes[0]


def test_a_harmonic_mean_is_met(clip: Clip) -> None:
    bench: Any = FormulaBench()
    target = Target(90.0, pool="harmonic_mean")
    plan = plan_per_shot(bench, clip, settings_of("libx264"), target=target, division="mean")
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
