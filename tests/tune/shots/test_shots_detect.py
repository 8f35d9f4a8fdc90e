"""Shots are found where pictures change at once and stay changed, to the frame."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shot_pictures import PlaneReader, blend, encode_planes, noisy, pan, still, texture

from acuity.errors import NoFramesError, TuneError
from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.progress import Stopped
from acuity.tune.shots.detect import Detection, survey_shots

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


@pytest.mark.parametrize("step", [2, 8, 14])
def test_a_pan_is_no_cut(step: int) -> None:
    assert cuts(pan(60, 60, step)) == []


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


def test_noise_and_stillness_are_no_cuts() -> None:
    assert cuts(noisy(still(A, 60), 25)) == []
    assert cuts(noisy(still(np.full_like(A, 128.0), 60), 60)) == []
    assert cuts(still(A, 60)) == []


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
    seen: list[tuple[int, int | None]] = []

    def told(frames: int, total: int | None) -> None:
        seen.append((frames, total))
        if frames == 5:
            raise Stopped

    with pytest.raises(Stopped):
        survey_shots(PlaneReader(still(A, 60)), Detection(), progress=told)
    assert [frames for frames, _ in seen] == [1, 2, 3, 4, 5]


def test_a_container_with_b_frames_is_cut_at_the_frames_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "cuts.mp4"
    encode_planes(path, noisy(still(A, 26) + still(B, 17) + still(C, 21), 2), {"crf": "23", "bf": "3"})
    assert find_shots(open_clip(path)) == [Part(0, 26), Part(26, 43), Part(43, 64)]


def test_a_clip_of_parts_has_no_shot_across_them(tmp_path: Path) -> None:
    path = tmp_path / "cuts.mp4"
    encode_planes(path, still(A, 30) + still(B, 30), {"crf": "23"})
    clip = open_clip(path).of(Part(0, 14), Part(20, 50))
    assert find_shots(clip, min_frames=4) == [Part(0, 14), Part(20, 30), Part(30, 50)]
