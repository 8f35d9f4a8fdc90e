"""What a clip becomes before it is encoded, options that are refused, stopping, and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

import acuity
import video_clips
from acuity.errors import EncodeFailed, EncoderError, NoFramesError, TruncatedError, TuneError
from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import ENCODERS, find_encoder, usable_encoders
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.hdr10 import of_frame
from acuity.tune.points.point import PointScoring, measure
from acuity.tune.progress import Stopped
from tune_clips import IN_PROCESS, encode_file, fast, picture, write_video, write_y4m

HDR10 = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("encode") / "source.y4m", 24, 160, 96))


@pytest.fixture(scope="module")
def hdr(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    path = tmp_path_factory.mktemp("hdr") / "hdr.mkv"
    options = {"crf": "5", "preset": "ultrafast", "x265-params": f"log-level=none:{HDR10}"}
    frames = [av.VideoFrame(160, 96, "yuv420p10le") for _ in range(12)]
    for index, frame in enumerate(frames):
        for number, plane in enumerate(frame.planes):
            rows = np.frombuffer(plane, np.uint16).reshape(plane.height, plane.line_size // 2)
            rows[:, : plane.width] = 500 if number else picture(index, 160, 96).astype(np.uint16) * 4
    tags = {"colorspace": 9, "color_trc": 16, "color_primaries": 9, "color_range": 1}
    made = video_clips.clip(path, frames, codec="libx265", pix_fmt="yuv420p10le", options=options, **tags)
    return open_clip(made)


@pytest.mark.parametrize("name", ["libx264", "libx265", "libsvtav1"])
def test_ten_bit_and_hdr10_are_carried_over(name: str, hdr: Clip, tmp_path: Path) -> None:
    out = tmp_path / "hdr.mp4"
    encode_file(hdr, fast(name), 30, out)
    with av.open(out) as file:
        frame = next(file.decode(video=0))
        context = file.streams.video[0].codec_context
        found = of_frame(frame)
    assert frame.format.name == "yuv420p10le"
    assert (context.colorspace, context.color_trc, context.color_primaries) == (9, 16, 9)
    assert found.light == (1000, 400)
    assert found.primaries is not None
    assert hdr.hdr10.primaries is not None
    for one, other in zip(found.primaries, hdr.hdr10.primaries, strict=True):
        assert [float(value) for value in one] == pytest.approx([float(value) for value in other], abs=1e-4)
    assert found.luminance is not None
    assert float(found.luminance[1]) == 1000


def test_a_format_that_the_encoder_does_not_take_is_refused_unless_it_may_convert(hdr: Clip) -> None:
    sdr = replace(hdr, info=replace(hdr.info, transfer="bt709"))
    with pytest.raises(EncoderError, match=r"libvpx-vp9 doesn't take yuv420p10le.*out_pix_fmt='yuv420p'"):
        measure(sdr, fast("libvpx-vp9"), 30)
    with pytest.raises(EncoderError, match="show bands in HDR: use libx264, libx265 and libsvtav1"):
        measure(hdr, fast("libvpx-vp9"), 30)
    point = measure(hdr, fast("libvpx-vp9", pixel_format="yuv420p"), 30)
    assert any("no place for the HDR10 metadata" in note for note in point.notes)
    assert any("is HDR, and 8 bits a sample are too few for it" in note for note in point.notes)
    with pytest.raises(EncoderError, match="libsvtav1 doesn't take the pixel format yuv444p: use one of"):
        measure(hdr, fast("libsvtav1", pixel_format="yuv444p"), 30)


def test_grain_that_an_encoder_makes_up_is_noted(clip: Clip) -> None:
    for grain, expected in ((30, True), (0, False)):
        options = (("svtav1-params", f"tune=1:film-grain={grain}"),)
        notes = measure(clip, fast("libsvtav1", options=options), 40).notes
        assert any("makes up grain of its own (film-grain=30)" in note for note in notes) == expected


def test_smaller_sizes_are_scored_at_the_source_s(clip: Clip) -> None:
    half = measure(clip, fast("libx264", size=(80, 48)), 20)
    full = measure(clip, fast("libx264"), 20)
    assert len(half.scores["vmaf"]) == 24
    assert half.pool() < full.pool()
    shown = measure(clip, fast("libx264", size=(80, 48)), 20, PointScoring(display="1080p"))
    assert shown.pool() != half.pool()


@pytest.mark.parametrize("frames", [1, 2])
def test_frames_of_the_shortest_clips_are_decoded_when_they_are_shown(frames: int, tmp_path: Path) -> None:
    """x265 gives their times of decoding from memory that it never wrote: two tries in three are absurd."""
    clip = open_clip(write_y4m(tmp_path / "source.y4m", frames, 96, 64))
    for _ in range(4):
        encode_file(clip, fast("libx265"), 30, tmp_path / "short.mp4", overwrite=True)
        with av.open(tmp_path / "short.mp4") as file:
            packets = [packet for packet in file.demux(video=0) if packet.size]
            assert [packet.dts for packet in packets] == [packet.pts for packet in packets]
            assert file.duration == pytest.approx(frames * 1e6 / clip.rate, rel=0.1)


def test_sizes_that_cannot_be_encoded_are_refused(clip: Clip) -> None:
    with pytest.raises(TuneError, match="320x192 is larger than"):
        measure(clip, fast("libx264", size=(320, 192)), 30)
    with pytest.raises(TuneError, match=r"the size 81x48 has an odd side, .* encode it at 80x48"):
        measure(clip, fast("libx264", size=(81, 48)), 30)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("libx264", (("x264-params", "nonsense=1"),), "nonsense"),
        ("libx265", (("x265-params", "nonsense=1"),), "Unknown option: nonsense"),
        ("libsvtav1", (("svtav1-params", "nonsense=1"),), "nonsense"),
        ("libvpx-vp9", (("auto-alt-ref", "77"),), "out of range"),
        ("libx264", (("nonsense", "1"),), "it has no option nonsense"),
    ],
)
def test_an_option_that_the_encoder_refuses_is_named(
    name: str, options: tuple[tuple[str, str], ...], said: str, clip: Clip
) -> None:
    with pytest.raises(EncoderError, match=f"{name} refuses its options .*{said}"):
        measure(clip, fast(name, options=options), 30)


@pytest.mark.parametrize("name", IN_PROCESS)
def test_the_number_of_threads_changes_no_byte(name: str, clip: Clip) -> None:
    if ENCODERS[name].threads is not None:
        pytest.skip("it does, so the number is part of the settings")
    one, other = (measure(clip, fast(name, threads=threads), 30) for threads in (1, 3))
    assert np.array_equal(one.sizes, other.sizes)


@contextmanager
def later(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Acts in the middle of the block."""
    timer = threading.Timer(seconds, act)
    timer.start()
    yield
    timer.join()


def left_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("acuity-")]


def children() -> set[int]:
    program = "-m acuity.tune.encoders.process$"  # other children may name the module among their arguments
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "--", program], capture_output=True)
    return {int(pid) for pid in found.stdout.split()}


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("slow") / "slow.y4m", 12, 1280, 720))


@pytest.mark.parametrize("name", IN_PROCESS)
def test_a_stop_ends_encoder_and_threads(name: str, slow: Clip) -> None:
    before, stop = children(), threading.Event()
    with later(0.6, stop.set), pytest.raises(Stopped):  # in the middle: the whole would take much longer
        measure(slow, EncoderSettings(ENCODERS[name], preset="placebo"), 10, stop=stop)
    assert left_threads() == []
    assert children() <= before


def test_an_encoder_that_is_killed_is_reported(slow: Clip) -> None:
    measure(slow.of(Part(0, 1)), fast("libx264"), 30)  # so that a process waits
    before = children()

    def kill() -> None:
        for child in before:
            os.kill(child, signal.SIGKILL)

    said = "libx265 crf 10 ended early: its process was ended by signal 9"
    with later(0.5, kill), pytest.raises(EncodeFailed, match=said):
        measure(slow, EncoderSettings(ENCODERS["libx265"], preset="placebo"), 10)
    assert left_threads() == []


@pytest.mark.parametrize(("name", "part"), [("cut.mp4", 0.6), ("cut.mkv", 0.5)])
def test_a_source_that_is_cut_off_ends_the_encode_with_one_sentence(
    name: str, part: float, tmp_path: Path
) -> None:
    path, options = tmp_path / name, {"movflags": "+faststart"} if name.endswith("mp4") else {}
    write_video(path, 60, options={"crf": "5", "preset": "ultrafast"}, container_options=options)
    os.truncate(path, round(path.stat().st_size * part))
    before = children()
    with pytest.raises(TruncatedError, match=f"{name}' ends .* it promises"):
        measure(open_clip(path), fast("libx264"), 30)
    assert left_threads() == []
    assert children() <= before


def test_a_clip_knows_its_parts_and_its_content(clip: Clip, tmp_path: Path) -> None:
    part = clip.of(Part(3, 9), Part(20, 22))
    assert (part.frames, part.seconds) == (8, 8 / 25)
    with part.reader() as reader:
        lumas = [picture.luma.copy() for picture in reader]
    assert len(lumas) == 8
    for found, index in zip(lumas, [*range(3, 9), 20, 21], strict=True):
        assert np.array_equal(found, picture(index, 160, 96))
    assert clip.digest() == clip.digest() != part.digest()
    copy = tmp_path / "copy.y4m"
    copy.write_bytes(Path(clip.path).read_bytes())
    assert open_clip(copy).digest() == clip.digest()
    with pytest.raises(NoFramesError):
        clip.of(Part(20, 25))


# ---- Encoders that only an `ffmpeg` program brings, with a program that plays one ----


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
    assert names[:4] == list(IN_PROCESS)
    assert set(names[4:]) == {"hevc_nvenc", "h264_videotoolbox", "h264_qsv", "h264_amf"}
    with pytest.raises(EncoderError, match=r"av1_nvenc does not work with .*load libcuda.so.1\)+: use"):
        find_encoder("av1_nvenc")


def test_without_a_program_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACUITY_FFMPEG", raising=False)
    with pytest.raises(EncoderError, match=r"hevc_nvenc needs an ffmpeg that .* ACUITY_FFMPEG names none"):
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
    encoder, stop = find_encoder("h264_qsv"), threading.Event()
    with later(0.3, stop.set), pytest.raises(Stopped):
        measure(clip, EncoderSettings(encoder), 30, stop=stop)
    assert left_threads() == []
