"""measure(): encoding and scoring as one stream, and shots with the figures they have in the whole video."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.settings import Settings
from acuity.tune.points.point import Scoring, measure
from tune_clips import picture, write_y4m

IN_PROCESS = ("libx264", "libx265", "libsvtav1", "libvpx-vp9")
FAST = {"libx264": "veryfast", "libx265": "ultrafast", "libsvtav1": "10", "libvpx-vp9": "fast"}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("clips") / "source.y4m", 30, 160, 96))


def settings_of(name: str) -> Settings:
    return Settings(find_encoder(name), preset=FAST[name])


@pytest.mark.parametrize("name", IN_PROCESS)
def test_an_encode_is_measured(name: str, clip: Clip) -> None:
    settings = settings_of(name)
    good, poor = (measure(clip, settings, quality, Scoring(metrics=("psnr",))) for quality in (18, 45))
    assert good.frames == poor.frames == 30
    assert good.sizes.sum() == good.bytes > poor.bytes > 0
    assert 100 >= good.pool() > poor.pool() > 0
    assert good.pool("psnr_y") > poor.pool("psnr_y")
    assert good.bitrate_kbps == pytest.approx(good.bytes * 8 * 25 / 30 / 1000)
    assert good.encoder_version.startswith(name)


@pytest.mark.parametrize("name", IN_PROCESS)
def test_parts_are_encoded_one_after_the_other(name: str, clip: Clip) -> None:
    point = measure(clip.of(Part(2, 6), Part(20, 29)), settings_of(name), 35)
    assert point.frames == len(point.scores["vmaf"]) == 13


def test_equal_settings_make_equal_bytes(clip: Clip) -> None:
    settings = settings_of("libx264")
    points = [measure(clip, settings, 23) for _ in range(3)]
    for point in points:
        assert np.array_equal(point.sizes, points[0].sizes)
        assert np.array_equal(point.scores["vmaf"], points[0].scores["vmaf"])


def test_the_bitrate_of_a_variable_rate_is_by_the_time_that_the_frames_are_shown(tmp_path: Path) -> None:
    stamps = [0, 40, 80, 120, 160, 320, 480, 640, 800, 960]
    path = tmp_path / "varied.mkv"
    with av.open(path, "w") as file:
        video = file.add_stream("libx264", rate=25, options={"crf": "8", "preset": "ultrafast"})
        video.width, video.height, video.pix_fmt = 160, 96, "yuv420p"
        video.time_base = video.codec_context.time_base = Fraction(1, 1000)
        for index, stamp in enumerate(stamps):
            frame = av.VideoFrame.from_ndarray(np.vstack([picture(index, 160, 96)] * 2)[:144], "yuv420p")
            frame.pts, frame.time_base = stamp, Fraction(1, 1000)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
    varied = open_clip(path)
    point = measure(varied, settings_of("libx264"), 30)
    assert point.seconds == pytest.approx(1.0, abs=1e-6)  # the last frame is shown for 40 ms
    assert point.bitrate_kbps == pytest.approx(point.bytes * 8 / 1000, rel=1e-6)
    assert varied.frames == len(stamps)
    start = measure(varied.of(Part(0, 5)), settings_of("libx264"), 30)
    assert start.seconds == pytest.approx(0.16 + 0.1, abs=1e-3)  # of the last one, the mean is known
    even = replace(varied, info=replace(varied.info, variable_rate=False))
    assert even.digest() != varied.digest()


# Every frame alone and of the same quantiser: a frame's picture is the same wherever the encode begins.
SETTINGS = Settings(
    find_encoder("libx264"), preset="ultrafast", keyframe_interval=1, options=(("x264-params", "qp=34"),)
)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("clips") / "short.y4m", 20))


def test_a_shots_figures_are_those_of_the_whole_video(short: Clip) -> None:
    whole = measure(short, SETTINGS, 30)
    shot = measure(short.shot(Part(10, 20)), SETTINGS, 30)
    alone = measure(short.of(Part(10, 20)), SETTINGS, 30)
    assert len(shot.scores["vmaf"]) == shot.frames == 10
    assert np.array_equal(shot.sizes, alone.sizes), "the encode is the same"
    assert np.array_equal(shot.scores["vmaf"], whole.scores["vmaf"][10:])
    assert np.array_equal(alone.scores["vmaf"][1:], whole.scores["vmaf"][11:])
    assert abs(alone.scores["vmaf"][0] - whole.scores["vmaf"][10]) > 3


def test_a_scaled_shot_has_a_lead_in_too(short: Clip) -> None:
    smaller = Settings(find_encoder("libx264"), preset="ultrafast", size=(80, 48))
    assert len(measure(short.shot(Part(10, 20)), smaller, 30).scores["vmaf"]) == 10


def test_the_first_shot_has_none(short: Clip) -> None:
    first = measure(short.shot(Part(0, 10)), SETTINGS, 30)
    assert np.array_equal(first.scores["vmaf"], measure(short.of(Part(0, 10)), SETTINGS, 30).scores["vmaf"])


def test_a_shot_is_not_the_same_clip_as_its_frames_alone(short: Clip) -> None:
    assert short.shot(Part(10, 20)).digest() != short.of(Part(10, 20)).digest()
    assert not short.shot(Part(10, 20)).of(Part(0, 5)).led
