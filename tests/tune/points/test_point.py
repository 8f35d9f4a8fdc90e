"""measure(): encoding and scoring as one stream."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.settings import Settings
from acuity.tune.points.point import Scoring, measure
from tune_clips import write_y4m

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
