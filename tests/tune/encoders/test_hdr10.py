"""The metadata of HDR that an encode carries over from its source."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from acuity.tune.encoders.hdr10 import Hdr10, read_hdr10
from acuity.video.readers import damage_log
from video_clips import encode

MASTERING = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = f"log-level=none:pools=1:master-display={MASTERING}:max-cll=1000,400"
    path = tmp_path_factory.mktemp("hdr") / "clip.mkv"
    return encode(path, codec="libx265", pix_fmt="yuv420p10le", frames=4, options={"x265-params": settings})


def test_what_a_file_says(clip: Path) -> None:
    found = read_hdr10(str(clip), None)
    assert found != Hdr10()
    assert found.light == (1000, 400)


def test_a_file_that_says_nothing(tmp_path: Path) -> None:
    assert read_hdr10(str(encode(tmp_path / "clip.mp4", frames=2)), None) == Hdr10()


def test_damage_that_a_decoder_logs_meanwhile_is_no_concern(
    clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = itertools.count()
    monkeypatch.setattr(damage_log, "count", lambda: next(logged))
    assert read_hdr10(str(clip), None) != Hdr10()
