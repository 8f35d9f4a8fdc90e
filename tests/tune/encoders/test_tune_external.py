"""Encoders that only an `ffmpeg` program brings, with a program that plays one."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import av
import numpy as np
import pytest

import acuity
from acuity.errors import EncodeFailed, EncoderError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder, usable_encoders
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.output import encode_file
from acuity.tune.points.point import measure
from acuity.tune.progress import Stopped
from tune_clips import write_y4m


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("external") / "source.y4m", 24, 160, 96))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bin") / "ffmpeg"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("fake_ffmpeg.py")} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def ffmpeg(script: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACUITY_FFMPEG", str(script))
    return script


def test_encoders_of_the_program_are_found_by_encoding_a_frame(ffmpeg: Path) -> None:
    names = [encoder.name for encoder in usable_encoders()]
    assert names[:4] == ["libx264", "libx265", "libsvtav1", "libvpx-vp9"]
    assert set(names[4:]) == {"hevc_nvenc", "h264_videotoolbox", "h264_qsv", "h264_amf"}


def test_one_that_fails_on_a_frame_is_refused_with_its_reason(ffmpeg: Path) -> None:
    with pytest.raises(
        EncoderError, match=r"av1_nvenc does not work with .*Cannot load libcuda.so.1\)+: use"
    ):
        find_encoder("av1_nvenc")


def test_without_a_program_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACUITY_FFMPEG", raising=False)
    with pytest.raises(
        EncoderError, match="hevc_nvenc needs an ffmpeg that has it, and ACUITY_FFMPEG names none"
    ):
        find_encoder("hevc_nvenc")
    monkeypatch.setenv("ACUITY_FFMPEG", "/nowhere/ffmpeg")
    with pytest.raises(EncoderError, match="'/nowhere/ffmpeg' that ACUITY_FFMPEG names can't be run"):
        find_encoder("hevc_nvenc")


def test_its_stream_is_scored_as_the_file_it_becomes(ffmpeg: Path, clip: Clip, tmp_path: Path) -> None:
    out = tmp_path / "film.mp4"
    point = encode_file(clip, EncoderSettings(find_encoder("hevc_nvenc")), 35, out)
    assert point.frames == 24
    assert point.encoder_version == "hevc_nvenc (ffmpeg 7.7-fake)"
    report = acuity.score(clip.path, out)
    assert np.array_equal(report.results.columns["vmaf"], point.scores["vmaf"])
    with av.open(out) as file:
        assert len(list(file.decode(video=0))) == 24


def test_a_knob_that_goes_the_other_way(ffmpeg: Path, clip: Clip) -> None:
    encoder = find_encoder("h264_videotoolbox")
    assert (encoder.quality(0), encoder.quality(encoder.last_step), encoder.step(90)) == (100, 0, 10)
    good, poor = (measure(clip, EncoderSettings(encoder), encoder.quality(step)) for step in (20, 80))
    assert good.quality == 80
    assert good.pool() > poor.pool()
    assert good.bytes > poor.bytes


def test_one_that_dies_on_the_way_says_why(ffmpeg: Path, clip: Clip) -> None:
    with pytest.raises(EncodeFailed, match=r"h264_amf qp_i 30 failed.*: the device was lost"):
        measure(clip, EncoderSettings(find_encoder("h264_amf")), 30)


def test_one_that_hangs_is_stopped(ffmpeg: Path, clip: Clip) -> None:
    encoder = find_encoder("h264_qsv")
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        measure(clip, EncoderSettings(encoder), 30, stop=stop)
    timer.join()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("acuity-")]
