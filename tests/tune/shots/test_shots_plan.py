"""A plan's documents: JSON with the entries that users know, CSV, and a script."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pytest
from shot_pictures import pan, still, texture
from shot_plans import plan_of, settings_of, write_shots

from acuity import score
from acuity.errors import EncoderError, OutputError, TuneError
from acuity.scoring.fronts import sentence
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encode import PictureForm, open_encoding
from acuity.tune.shots.plan import (
    ShotPlan,
    Stitched,
    check_script,
    concat_command,
    segment_commands,
    shell_script,
)
from acuity.tune.shots.stitch import (
    check_one_configuration,
    encode_shots,
    essential,
    for_stitching,
    stitchable_range,
)
from tune_clips import IN_PROCESS, write_video


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> ShotPlan:
    clip = write_shots(tmp_path_factory.mktemp("a folder") / "it's a clip.y4m")
    return plan_of(clip, settings_of("libx264"), (24, 34, 30), (14, 28))


def test_a_variable_rate_has_no_script_and_the_remedy_is_an_option(plan: ShotPlan) -> None:
    clip = replace(plan.clip, info=replace(plan.clip.info, variable_rate=True))
    with pytest.raises(TuneError) as caught:
        check_script(clip)
    assert "leave out --format and pass --output, which makes" in sentence(caught.value, "vmaf-tune")
    assert "leave out format and pass output=, which makes" in sentence(caught.value, "run_tune_per_shot")


def test_the_document_has_what_users_know_and_more(plan: ShotPlan) -> None:
    document = json.loads(json.dumps(plan.document()))
    assert {"encoder", "framerate", "predicate", "target_vmaf", "shots"} < set(document)
    assert document["framerate"] == 24
    shots = [(shot["start_frame"], shot["end_frame"], shot["crf"]) for shot in document["shots"]]
    assert shots == [(0, 14, 24), (14, 28, 34), (28, 42, 30)]
    assert len(document["segment_commands"]) == 3
    assert document["measured"] is None
    assert document["predicted"]["bytes"] == sum(shot["bytes"] for shot in document["shots"])
    mean = sum(shot["predicted_vmaf"] for shot in document["shots"]) / 3
    assert document["predicted"]["score"] == pytest.approx(mean)
    kbps = sum(shot["bitrate_kbps"] for shot in document["shots"]) / 3
    assert document["predicted"]["bitrate_kbps"] == pytest.approx(kbps, abs=0.001)


def test_csv_has_a_line_for_each_shot(plan: ShotPlan) -> None:
    rows = list(csv.DictReader(plan.csv().splitlines()))
    assert [(row["shot"], row["crf"]) for row in rows] == [("1", "24"), ("2", "34"), ("3", "30")]
    for row, shot in zip(rows, plan.shots, strict=True):
        assert float(row["predicted_vmaf"]) == round(shot.point.pool(), 6)
        assert float(row["bitrate_kbps"]) == round(shot.point.bitrate_kbps, 3)


def test_what_was_measured_stands_beside_what_was_predicted(plan: ShotPlan) -> None:
    stitched = Stitched("out.mp4", 1200, 1000, 1000 / 7, 1000 / 11, 42, (0, 14, 28))
    made = replace(plan, stitched=stitched).document()
    assert made["concat_command"][-1] == "out.mp4"
    assert (made["measured"]["score"], made["measured"]["bitrate_kbps"]) == (90.909091, 142.857)
    for about in (made["predicted"], made["measured"], *made["shots"]):
        assert about["bitrate_kbps"] == round(about["bitrate_kbps"], 3)
    assert made["predicted"]["score"] == round(plan.predicted, 6)


def test_commands_count_frames(plan: ShotPlan) -> None:
    second = segment_commands(plan)[1]
    assert second[second.index("-vf") + 1].startswith("trim=start_frame=14:end_frame=28,")
    assert second[second.index("-crf") + 1] == "34"
    assert "stitchable=1" in second[second.index("-x264-params") + 1]
    assert concat_command(plan)[-1] == "per_shot_encode.mp4"


def test_the_script_is_a_script(plan: ShotPlan) -> None:
    script = shell_script(plan)
    assert "Needs an ffmpeg" in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    lines = [line for line in script.splitlines() if line.startswith("ffmpeg")]
    assert [shlex.split(line) for line in lines] == [*segment_commands(plan), concat_command(plan)]
    assert script.count("file 'shot_") == 3


# ---- The file of a plan: all frames, a keyframe at each shot, the predicted score, on ----


# Shots of one and of two frames are among them: encoders delay less in those, and x265 gives no time at all.
CUTS = (13, 14, 16, 28)
STARTS = [0, *CUTS]
CASES = [
    ("libx264", ".mp4", (24, 30, 38, 20, 33)),
    ("libx265", ".mkv", (24, 30, 38, 20, 33)),
    ("libx265", ".mp4", (24, 30, 38, 20, 33)),
    ("libsvtav1", ".mp4", (30, 40, 50, 25, 45)),
    ("libvpx-vp9", ".webm", (30, 40, 50, 25, 45)),
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return write_shots(tmp_path_factory.mktemp("clips") / "shots.y4m")


@pytest.mark.parametrize(("name", "suffix", "qualities"), CASES)
def test_the_file_is_what_was_planned(
    name: str, suffix: str, qualities: tuple[int, ...], clip: Clip, tmp_path: Path
) -> None:
    out = tmp_path / f"out{suffix}"
    plan = encode_shots(plan_of(clip, settings_of(name), qualities, CUTS), out)
    assert plan.stitched is not None
    assert plan.stitched.video_bytes == plan.bytes, "the packets are those of the probes"
    assert plan.stitched.bytes == out.stat().st_size > plan.bytes, "the file has a container, too"
    assert plan.stitched.figure == pytest.approx(plan.predicted, abs=1e-9)
    assert score(clip.path, out).score == pytest.approx(plan.predicted, abs=1e-9), "of the file itself"
    assert set(STARTS) <= set(plan.stitched.keyframes)
    assert plan.stitched.notes == ()
    with av.open(str(out)) as file:
        stream = file.streams.video[0]
        packets = [packet for packet in file.demux(stream) if packet.size]
        base = packets[0].time_base * 24
        assert sorted(round(packet.pts * base) for packet in packets) == list(range(42))
        if suffix != ".mkv":  # Matroska has no times of decoding
            assert all(one.dts < other.dts <= other.pts for one, other in pairwise(packets))
        assert set(STARTS) <= {round(packet.pts * base) for packet in packets if packet.is_keyframe}
    assert list(tmp_path.iterdir()) == [out]


def test_what_cannot_be_one_stream_is_refused(clip: Clip, tmp_path: Path) -> None:
    plan = plan_of(clip, settings_of("libx264"), (24, 30), (14,))
    unlike = replace(plan, settings=settings_of("libx264"))  # without what makes it one stream
    with pytest.raises(TuneError, match="can't be in one stream"):
        encode_shots(unlike, tmp_path / "out.mp4")
    with pytest.raises((OutputError, TuneError), match="webm"):
        encode_shots(plan, tmp_path / "out.webm")
    with pytest.raises(OutputError):
        encode_shots(plan, tmp_path / "missing" / "out.mp4")
    assert list(tmp_path.iterdir()) == []


def test_uneven_times_are_kept_across_shots(tmp_path: Path) -> None:
    source, out = tmp_path / "source.mkv", tmp_path / "out.mkv"
    stamps = np.cumsum([0] + [33, 50, 33, 84] * 6).tolist()
    write_video(source, size=(64, 48), rate=20, stamps=stamps, options={"preset": "ultrafast", "bf": "0"})
    clip = open_clip(source)
    assert clip.info.variable_rate
    plan = plan_of(replace(clip, info=replace(clip.info, frames=25)), settings_of("libx264"), (24, 34), (12,))
    encode_shots(plan, out)
    with av.open(str(out)) as file:
        packets = [packet for packet in file.demux(file.streams.video[0]) if packet.size]
        assert sorted(round(packet.pts * packet.time_base * 1000) for packet in packets) == stamps


@pytest.mark.parametrize("name", IN_PROCESS)
def test_the_configuration_is_the_same_at_every_quality(name: str, clip: Clip) -> None:
    settings = for_stitching(settings_of(name))
    best, worst = stitchable_range(settings.encoder, None)
    found = {}
    for quality in (best, 28, worst):
        encoding = open_encoding(settings, quality, PictureForm.of(clip, settings))
        found[quality] = encoding.extradata
        encoding.close()
        encoding.dispose()
    check_one_configuration(settings, found)


def test_lossless_is_left_out() -> None:
    assert stitchable_range(find_encoder("libx264"), None) == (1, 51)
    assert stitchable_range(find_encoder("libx264"), (0, 0)) == (1, 1)
    assert stitchable_range(find_encoder("libx264"), (30, 20)) == (20, 30)
    assert stitchable_range(find_encoder("libx265"), None) == (0, 51)
    with pytest.raises(EncoderError):
        stitchable_range(find_encoder("libx265"), (20, 99))


def test_remarks_are_no_part_of_a_configuration() -> None:
    sets = b"\0\0\0\1\x67abc\0\0\0\1\x68de"
    assert essential("h264", sets + b"\0\0\1\x06hello") == essential("h264", sets)
    assert essential("h264", sets + b"\0\0\1\x68xy") != essential("h264", sets)
    assert essential("av1", b"\x0a\x0b") == b"\x0a\x0b"


# ---- The script of a plan, run by a real ffmpeg: it makes the file that encode_shots( ----


needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="ffmpeg, to run the script with, is not installed here"
)

# Shots of one and two frames among them, in which encoders delay less.
FEW_CUTS, QUALITIES = (5, 10, 11, 13), (12, 20, 14, 16, 18)
RATE = Fraction(24)


def write_source(path: Path, *, start: float = 0.0, sound: bool = False, words: bool = False) -> None:
    """Three unlike shots at 24 frames a second, of which the first frame is shown at `start`."""
    planes = still(texture(1), 5) + pan(40, 8, 7) + pan(60, 7, 5)
    with av.open(str(path), "w") as file:
        video: Any = file.add_stream("libx264", rate=RATE, options={"preset": "ultrafast", "qp": "4"})
        height, width = planes[0].shape
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        video.codec_context.time_base = Fraction(1, 12000)
        speech: Any = file.add_stream("aac", rate=8000) if sound else None
        if words:
            file.add_mux_stream("subrip")
        for number, plane in enumerate(planes):
            luma = np.clip(np.rint(plane), 16, 235).astype(np.uint8)
            colour = np.full((height // 2, width), 110 + number, np.uint8)
            frame = av.VideoFrame.from_ndarray(np.vstack([luma, colour]), format="yuv420p")
            frame.pts, frame.time_base = round(start * 12000) + 500 * number, Fraction(1, 12000)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        if speech is not None:
            for _ in range(8):
                noise = np.random.default_rng(3).random((1, 1024), np.float32) / 9
                wave = av.AudioFrame.from_ndarray(noise, format="fltp", layout="mono")
                wave.sample_rate = 8000
                file.mux(speech.encode(wave))
            file.mux(speech.encode(None))


class Seen(NamedTuple):
    """What a player would show and play of a file."""

    times: list[float]  # of frames
    pictures: list[np.ndarray]
    sound: list[float]  # times of packets


def seen(path: Path) -> Seen:
    with av.open(str(path)) as file:
        frames = list(file.decode(video=0))
    with av.open(str(path)) as file:
        packets = [packet for stream in file.streams.audio for packet in file.demux(stream) if packet.size]
    return Seen(
        [float(frame.time or 0) for frame in frames],
        [frame.to_ndarray()[: frame.height].astype(float) for frame in frames],
        [float(packet.pts * packet.time_base) for packet in packets],
    )


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "start", "sound"),
    [
        ("even.mp4", 0.0, False),
        ("sound.mkv", 0.021, True),
        ("late.mkv", 0.521, True),
        ("transport.ts", 0.521, True),
    ],
)
def test_the_script_makes_the_file_that_is_promised(
    name: str, start: float, sound: bool, tmp_path: Path
) -> None:
    source = tmp_path / name
    write_source(source, start=start, sound=sound)
    clip = open_clip(source)
    clip = replace(clip, info=replace(clip.info, frames=20))  # what a container claims counts its sound
    plan = plan_of(clip, settings_of("libx264"), QUALITIES, FEW_CUTS)
    encode_shots(plan, tmp_path / "ours.mp4")
    (tmp_path / "script.sh").write_text(shell_script(plan))
    subprocess.run(["sh", "script.sh"], cwd=tmp_path, check=True)
    ours, theirs = seen(tmp_path / "ours.mp4"), seen(tmp_path / "per_shot_encode.mp4")
    assert len(ours.times) == 20
    begin = theirs.times[0] - ours.times[0]
    assert abs(begin) < 0.0011, "MP4 says the beginning in milliseconds"
    assert theirs.times == pytest.approx([time + begin for time in ours.times], abs=1e-5)
    assert theirs.sound == pytest.approx(ours.sound, abs=1e-3)
    assert bool(ours.sound) == sound
    for number, picture in enumerate(theirs.pictures):
        errors = [float(np.mean((picture - other) ** 2)) for other in ours.pictures]
        near = errors[number]
        assert near <= min(errors) + 1e-9 or near < 4, f"frame {number} is another one: {errors}"


def test_text_subtitles_are_converted_for_an_mp4(tmp_path: Path) -> None:
    write_source(tmp_path / "words.mkv", words=True)
    plan = plan_of(open_clip(tmp_path / "words.mkv"), settings_of("libx264"), QUALITIES, FEW_CUTS)
    command = concat_command(plan)
    assert command[-1] == "per_shot_encode.mp4"
    assert command[command.index("-c:s:0") + 1] == "mov_text"
