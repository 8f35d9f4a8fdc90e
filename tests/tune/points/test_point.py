"""measure(): encoding and scoring as one stream, and shots with the figures they have in the whole video."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import PointScoring, measure
from tune_clips import IN_PROCESS, fast, write_video, write_y4m


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("clips") / "source.y4m", 30, 160, 96))


@pytest.mark.parametrize("name", IN_PROCESS)
def test_an_encode_is_measured(name: str, clip: Clip) -> None:
    settings = fast(name)
    good, poor = (measure(clip, settings, quality, PointScoring(metrics=("psnr",))) for quality in (18, 45))
    assert good.frames == poor.frames == 30
    assert good.sizes.sum() == good.bytes > poor.bytes > 0
    assert 100 >= good.pool() > poor.pool() > 0
    assert good.pool("psnr_y") > poor.pool("psnr_y")
    assert good.bitrate_kbps == pytest.approx(good.bytes * 8 * 25 / 30 / 1000)
    assert good.encoder_version.startswith(name)


def test_the_bitrate_of_a_variable_rate_is_by_the_time_that_the_frames_are_shown(tmp_path: Path) -> None:
    stamps = [0, 40, 80, 120, 160, 320, 480, 640, 800, 960]
    path = tmp_path / "varied.mkv"
    write_video(path, stamps=stamps)
    varied = open_clip(path)
    point = measure(varied, fast("libx264"), 30)
    assert point.seconds == pytest.approx(1.0, abs=1e-6)  # the last frame is shown for 40 ms
    assert point.bitrate_kbps == pytest.approx(point.bytes * 8 / 1000, rel=1e-6)
    assert varied.frames == len(stamps)
    start = measure(varied.of(Part(0, 5)), fast("libx264"), 30)
    assert start.seconds == pytest.approx(0.16 + 0.1, abs=1e-3)  # of the last one, the mean is known
    even = replace(varied, info=replace(varied.info, variable_rate=False))
    assert even.digest() != varied.digest()


# Every frame alone and of the same quantiser: a frame's picture is the same wherever the encode begins.
SETTINGS = EncoderSettings(
    find_encoder("libx264"), preset="ultrafast", keyframe_interval=1, options=(("x264-params", "qp=34"),)
)


def test_a_shots_figures_are_those_of_the_whole_video(clip: Clip) -> None:
    whole = measure(clip, SETTINGS, 30)
    shot = measure(clip.shot(Part(20, 30)), SETTINGS, 30)
    alone = measure(clip.of(Part(20, 30)), SETTINGS, 30)
    assert len(shot.scores["vmaf"]) == shot.frames == 10
    assert np.array_equal(shot.sizes, alone.sizes), "the encode is the same"
    assert np.array_equal(shot.scores["vmaf"], whole.scores["vmaf"][20:])
    assert np.array_equal(alone.scores["vmaf"][1:], whole.scores["vmaf"][21:])
    assert abs(alone.scores["vmaf"][0] - whole.scores["vmaf"][20]) > 3


def test_a_shot_is_not_the_same_clip_as_its_frames_alone(clip: Clip) -> None:
    assert clip.shot(Part(20, 30)).digest() != clip.of(Part(20, 30)).digest()
    assert not clip.shot(Part(20, 30)).of(Part(0, 5)).led
