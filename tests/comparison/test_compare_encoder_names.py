"""The encoder of an encode: from its name, folder or metadata, or by a pattern of the user's."""

from __future__ import annotations

import pytest

from acuity.comparison.encoder_names import SOURCES, encoder_finder, from_name
from acuity.errors import InputError


@pytest.mark.parametrize(
    ("path", "encoder"),
    [
        ("out/x264_2000k.mp4", "x264"),
        ("x264_slow_2.5M.mp4", "x264_slow"),
        ("film.x265-crf28.mkv", "film.x265"),
        ("svtav1_q32.ivf", "svtav1"),
        ("x264_720p_1500kbps.mp4", "x264"),
        ("vp9-1080p60-cq30.webm", "vp9"),
        ("x264 3000.mp4", "x264"),
        ("encoded.mp4", None),
        ("2000k.mp4", None),
        ("_2000k.mp4", None),
        ("x264.mp4", None),
    ],
)
def test_the_name_before_its_bitrate_or_quality(path: str, encoder: str | None) -> None:
    assert from_name(path) == encoder


def test_sources() -> None:
    info = {"codec": "hevc", "encoder": "Lavc61.3.100 libx265"}
    path = "/clips/slow/x265_30.mkv"
    found = {name: encoder_finder(name)(path, info) for name in SOURCES}
    assert found == {"auto": "x265", "name": "x265", "folder": "slow", "metadata": "libx265", "none": None}
    assert encoder_finder("auto")("a.mkv", info) == "libx265"
    assert encoder_finder("auto")("a.mkv", {"codec": "hevc"}) == "hevc"
    assert encoder_finder("auto")("a.yuv", None) is None
    mixed = encoder_finder("auto", ["enc_x264_2000k.mp4", "other.mp4"])
    assert mixed("enc_x264_2000k.mp4", info) == mixed("other.mp4", info) == "libx265"


def test_a_pattern_of_the_user() -> None:
    find = encoder_finder(r"film_(?P<encoder>\w+?)_")
    assert find("/a/film_x264_slow.mp4", None) == "x264"
    assert find("/a/other.mp4", None) is None


@pytest.mark.parametrize("source", ["words", r"(\w+)_", "(?P<encoder"])
def test_a_source_that_is_none(source: str) -> None:
    with pytest.raises(InputError, match=r"says no encoder: .*use one of auto, name"):
        encoder_finder(source)
