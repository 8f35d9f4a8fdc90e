"""Shots are found where pictures change at once and stay changed, to the frame."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shot_pictures import PlaneReader, blend, encode_planes, noisy, pan, still, texture

from acuity.errors import NoFramesError, TuneError
from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.points.point import Point
from acuity.tune.progress import Stopped
from acuity.tune.shots.detect import Detection, Shot, survey_shots
from acuity.tune.shots.sampling import SampledPieces, sample

A, B, C = texture(1), texture(2), texture(3)


def find_shots(source: Clip | PlaneReader, **options: Any) -> list[Part]:
    return [shot.part for shot in survey_shots(source, Detection(**options))]


def cuts(planes: list[np.ndarray], **options: float) -> list[int]:
    parts = find_shots(PlaneReader(planes, int(options.pop("depth", 8))), **options)  # type: ignore[arg-type]
    assert parts[0].start == 0
    assert parts[-1].end == len(planes)
    assert all(one.end == other.start for one, other in pairwise(parts))
    return [part.start for part in parts[1:]]


@pytest.mark.parametrize("depth", [8, 10, 16])
def test_hard_cuts_are_found_to_the_frame(depth: int) -> None:
    planes = still(A, 20) + still(B, 13) + pan(40, 30, 3) + still(C, 25)
    assert cuts(noisy(planes, 3), depth=depth) == [20, 33, 63]


def test_cuts_between_dark_pictures_are_found() -> None:
    dark = [texture(seed, low=16, high=60) for seed in (1, 2, 3)]
    assert cuts([plane for one in dark for plane in still(one, 20)]) == [20, 40]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_flash_is_no_cut(length: int) -> None:
    white = np.full_like(A, 250.0)
    assert cuts(still(A, 30) + still(white, length) + still(A, 30)) == []


def test_a_cut_beside_a_flash_is_one_cut() -> None:
    white = np.full_like(A, 250.0)
    assert cuts(still(A, 30) + still(white, 1) + still(B, 30)) in ([30], [31])


@pytest.mark.parametrize(
    "planes",
    [
        *(pan(60, 60, step) for step in (2, 8, 14)),
        noisy(still(A, 60), 25),
        noisy(still(np.full_like(A, 128.0), 60), 60),
    ],
)
def test_a_pan_and_noise_are_no_cuts(planes: list[np.ndarray]) -> None:
    assert cuts(planes) == []


@pytest.mark.parametrize("length", [8, 12, 24])
def test_a_dissolve_is_one_cut_at_most(length: int) -> None:
    assert len(cuts(still(A, 20) + blend(A, B, length) + still(B, 20))) <= 1


@pytest.mark.parametrize("length", [8, 12, 24])
@pytest.mark.parametrize("level", [16.0, 235.0])
def test_a_fade_is_a_cut_where_the_next_picture_comes_up(length: int, level: float) -> None:
    flat = np.full_like(A, level)
    out = still(A, 20) + blend(A, flat, length) + still(flat, 4)
    (cut,) = cuts(out + blend(flat, B, length) + still(B, 20))
    assert len(out) <= cut <= len(out) + 2
    assert cuts(out + blend(flat, A, length) + still(A, 20)) == [], "the same picture again is the same shot"


@pytest.mark.parametrize(("width", "height"), [(161, 97), (17, 9), (3, 2), (96, 160)])
def test_sizes_may_be_odd_small_or_upright(width: int, height: int) -> None:
    one, other = texture(1, width, height, 20, 90), texture(2, width, height, 150, 230)
    assert cuts(still(one, 20) + still(other, 20)) == [20]


def test_short_clips_are_one_shot() -> None:
    assert find_shots(PlaneReader([A])) == [Part(0, 1)]
    assert find_shots(PlaneReader([A, B]), min_frames=2) == [Part(0, 2)]
    assert find_shots(PlaneReader([A, B]), min_frames=1) == [Part(0, 1), Part(1, 2)]
    with pytest.raises(NoFramesError):
        find_shots(PlaneReader([]))


def test_no_shot_is_shorter_than_the_minimum() -> None:
    planes = still(A, 20) + still(B, 5) + still(C, 20)
    assert cuts(planes, min_frames=5) == [20, 25]
    assert len(cuts(planes, min_frames=6)) == 1
    assert cuts(planes, min_frames=21) in ([], [25]), "the first 20 frames are too few"


def test_long_shots_are_divided_evenly() -> None:
    assert cuts(still(A, 50) + still(B, 24), max_seconds=1.0) == [16, 33, 50]


def test_the_threshold_is_a_fraction_of_the_range() -> None:
    planes = still(np.full_like(A, 100.0), 20) + still(np.full_like(A, 126.0), 20)
    assert cuts(planes, threshold=0.1015) == [20]
    assert cuts(planes, threshold=0.1025) == []
    for bad in (0.0, -1.0, 12.0, float("nan")):
        with pytest.raises(TuneError, match="between 0 and 1"):
            find_shots(PlaneReader(planes), threshold=bad)


def test_progress_is_told_and_may_end_the_search() -> None:
    seen: list[int] = []

    def told(frames: int, _: int | None) -> None:
        seen.append(frames)
        if frames == 5:
            raise Stopped

    with pytest.raises(Stopped):
        survey_shots(PlaneReader(still(A, 60)), Detection(), progress=told)
    assert seen == [1, 2, 3, 4, 5]


def test_a_container_with_b_frames_is_cut_at_the_frames_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "cuts.mp4"
    encode_planes(path, noisy(still(A, 26) + still(B, 17) + still(C, 21), 2), {"crf": "23", "bf": "3"})
    assert find_shots(open_clip(path)) == [Part(0, 26), Part(26, 43), Part(43, 64)]


def test_a_clip_of_parts_has_no_shot_across_them(tmp_path: Path) -> None:
    path = tmp_path / "cuts.mp4"
    encode_planes(path, still(A, 30) + still(B, 30), {"crf": "23"})
    clip = open_clip(path).of(Part(0, 14), Part(20, 50))
    assert find_shots(clip, min_frames=4) == [Part(0, 14), Part(20, 30), Part(30, 50)]


# ---- A sample stands for its source: even over time, with calm and busy shots, and it ----


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
