"""Final files: what is in them, and what is said of the rest."""

from __future__ import annotations

import os
import resource
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import acuity
from acuity.access.paths import AllowedPaths
from acuity.errors import OutputError, PathError, TuneError
from acuity.report.write import limit_outputs
from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.points.point import Point
from tune_clips import encode_file, fast, write_video

SIZE = 160, 96
FRAMES = 30
Encoded = dict[str, tuple[Path, Point]]
FILES = {"libx264": "x264.mkv", "libx265": "x265.mp4", "libsvtav1": "av1.webm", "libvpx-vp9": "vp9.mp4"}


def write_source(path: Path, text: bytes = b"hello") -> Path:
    """A Matroska with video, sound, subtitles, chapters, an attachment and a title."""

    def also(file: Any) -> None:
        words = file.add_mux_stream("subrip")
        words.metadata["language"] = "deu"
        file.add_attachment("font.ttf", "font/ttf", b"abc")
        file.metadata["title"] = "A title"
        half = {"id": 1, "start": 0, "end": 600, "time_base": Fraction(1, 1000), "metadata": {"title": "One"}}
        file.set_chapters([half, {**half, "id": 2, "start": 600, "end": 1200}])
        for start in range(0, FRAMES * 40, 400):
            word = av.Packet(text)
            word.stream, word.time_base, word.duration = words, Fraction(1, 1000), 300
            word.pts = word.dts = start
            file.mux(word)

    return write_video(path, FRAMES, sound="aac", language="eng", also=also)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_source(tmp_path_factory.mktemp("output") / "source.mkv"))


@pytest.fixture(scope="module")
def encoded(clip: Clip) -> Encoded:
    made = {}
    for name, file in FILES.items():
        out = Path(clip.path).with_name(file)
        made[name] = out, encode_file(clip, fast(name), 35, out)
    return made


@pytest.mark.parametrize("name", FILES)
def test_the_score_is_that_of_the_file_to_the_last_digit(name: str, clip: Clip, encoded: Encoded) -> None:
    out, point = encoded[name]
    report = acuity.score(clip.path, out)
    assert report.results.frames == list(range(FRAMES))
    assert np.array_equal(report.results.columns["vmaf"], point.scores["vmaf"])
    assert report.model == point.model


def test_sound_subtitles_chapters_attachments_and_title_are_copied(encoded: Encoded) -> None:
    out, point = encoded["libx264"]
    assert not [note for note in point.notes if "left out" in note]
    with av.open(out) as file:
        assert [stream.type for stream in file.streams] == ["video", "audio", "subtitle", "attachment"]
        assert [stream.language for stream in file.streams][1:3] == ["eng", "deu"]
        assert file.metadata["title"] == "A title"
        assert [chapter["metadata"]["title"] for chapter in file.chapters()] == ["One", "One"]
        words = [bytes(packet) for packet in file.demux(subtitles=0) if packet.size]
    assert words == [b"hello"] * 3
    with av.open(out) as file:
        seconds = sum(samples.samples for samples in file.decode(audio=0)) / 48000
    assert seconds == pytest.approx(FRAMES / 25, abs=0.1)


def test_what_the_container_cannot_hold_is_named(encoded: Encoded) -> None:
    *_, note = (note for note in encoded["libx265"][1].notes if "left out" in note)
    assert "font.ttf" in note
    assert "audio" not in note
    assert "subtitle" not in note
    *_, note = (note for note in encoded["libsvtav1"][1].notes if "left out" in note)
    assert "audio stream 1 (aac, eng)" in note


@pytest.mark.parametrize(("name", "codec"), [("libx265", "mov_text"), ("libsvtav1", "webvtt")])
def test_text_subtitles_are_converted_to_what_the_container_holds(
    name: str, codec: str, encoded: Encoded
) -> None:
    out, point = encoded[name]
    assert any(f"subtitle stream 2 (srt, deu) is converted to {codec}" in note for note in point.notes)
    with av.open(out) as file:
        (words,) = file.streams.subtitles
        assert (words.codec_context.name, words.language) == (codec, "deu")
        shown = [
            (packet.pts * packet.time_base, packet.duration * packet.time_base, words.decode(packet))
            for packet in file.demux(words)
            if packet.size > 2  # MP4 has an empty text between two
        ]
    assert [(float(start), float(lasts)) for start, lasts, _ in shown] == [(0.0, 0.3), (0.4, 0.3), (0.8, 0.3)]
    assert [text.dialogue for *_, (text,) in shown] == [b"hello"] * 3


def test_the_same_encode_is_the_same_file(clip: Clip, encoded: Encoded) -> None:
    first, _ = encoded["libx264"]
    again = first.with_name("again.mkv")
    encode_file(clip, fast("libx264"), 35, again)
    assert again.read_bytes() == first.read_bytes()


def test_text_that_cannot_be_read_is_left_out_with_one_note(tmp_path: Path) -> None:
    clip = open_clip(write_source(tmp_path / "latin.mkv", b"caf\xe9"))
    point = encode_file(clip, fast("libx264"), 35, tmp_path / "out.mp4")
    assert sum("some text of subtitle stream 2 (srt, deu) is left out" in note for note in point.notes) == 1


def test_later_parts_are_written_without_sound(clip: Clip, tmp_path: Path) -> None:
    point = encode_file(clip.of(Part(5, 15)), fast("libx264"), 35, tmp_path / "part.mp4")
    assert "only parts" in point.notes[-1]
    with av.open(tmp_path / "part.mp4") as file:
        assert [stream.type for stream in file.streams] == ["video"]
        assert len(list(file.decode(video=0))) == 10


def test_the_first_part_has_its_sound_and_no_more(clip: Clip, tmp_path: Path) -> None:
    point = encode_file(clip.of(Part(0, 15)), fast("libx264"), 35, tmp_path / "part.mkv")
    assert not [note for note in point.notes if "left out" in note or "only parts" in note]
    with av.open(tmp_path / "part.mkv") as file:
        assert file.metadata["title"] == "A title"
        assert [chapter["end"] * chapter["time_base"] for chapter in file.chapters()] == [Fraction(600, 1000)]
        starts: dict[str, list[float]] = {"video": [], "audio": [], "subtitle": []}
        ends: dict[str, float] = {}
        for packet in file.demux():
            if packet.size and packet.pts is not None:
                starts[packet.stream.type].append(float(packet.pts * packet.time_base))
                ends[packet.stream.type] = float((packet.pts + (packet.duration or 0)) * packet.time_base)
    assert len(starts["video"]) == 15
    assert 0.55 < max(starts["audio"]) < 0.6 + 0.04
    assert len(starts["subtitle"]) == 2
    assert ends["subtitle"] == pytest.approx(0.6, abs=0.002), "the words end with the picture"


def start_of(path: Path, kind: str) -> float:
    with av.open(path) as file:
        stream = next(stream for stream in file.streams if stream.type == kind)
        packets = [packet.pts for packet in file.demux(stream) if packet.pts is not None and packet.size]
        return float(min(packets) * stream.time_base)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_video_and_sound_stay_in_step(suffix: str, tmp_path: Path) -> None:
    source, out = tmp_path / "late.mkv", tmp_path / f"out{suffix}"
    write_video(source, stamps=range(61, 541, 40), sound="aac")
    encode_file(open_clip(source), fast("libx264"), 30, out)
    late = start_of(source, "video") - start_of(source, "audio")
    assert 0.04 < late < 0.09  # between two frames
    assert start_of(out, "video") - start_of(out, "audio") == pytest.approx(late, abs=0.0011)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("film.avi", "end it with .mp4"),
        ("film.webm", "can't hold the h264"),
        ("none/film.mp4", "does not exist, so create it first"),
        ("source.mkv", "is the source itself"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_encode(out: str, said: str, clip: Clip) -> None:
    folder = Path(clip.path).parent
    before = sorted(os.listdir(folder))
    with pytest.raises((OutputError, TuneError), match=said):
        encode_file(clip, fast("libx264"), 30, folder / out)
    assert sorted(os.listdir(folder)) == before


def test_a_failed_encode_leaves_the_old_file(clip: Clip, tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"old")
    settings = fast("libx264", options=(("x264-params", "nonsense=1"),))
    with pytest.raises(TuneError, match="nonsense"):
        encode_file(clip, settings, 30, tmp_path / "film.mp4", overwrite=True)
    assert os.listdir(tmp_path) == ["film.mp4"]
    assert (tmp_path / "film.mp4").read_bytes() == b"old"


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_frames_of_a_variable_rate_keep_their_times(suffix: str, tmp_path: Path) -> None:
    stamps = [0, 40, 80, 200, 240, 280, 320, 500, 540, 580, 620, 660]
    clip = open_clip(write_video(tmp_path / "varied.mkv", stamps=stamps))
    assert clip.info.variable_rate
    out = tmp_path / f"out{suffix}"
    encode_file(clip, fast("libx264"), 30, out)
    with av.open(out) as file:
        times = [made.time for made in file.decode(video=0)]
    assert [time - times[0] for time in times] == pytest.approx([stamp / 1000 for stamp in stamps], abs=0.002)
    assert len(acuity.score(clip.path, out).results.frames) == len(stamps)


def test_video_on_its_side_is_encoded_upright(tmp_path: Path) -> None:
    clip = open_clip(write_video(tmp_path / "turned.mp4", 12, rotation=90))
    assert (clip.info.width, clip.info.height) == SIZE[::-1]
    out = tmp_path / "upright.mp4"
    point = encode_file(clip, fast("libx264"), 30, out)
    report = acuity.score(clip.path, out)
    assert (report.results.width, report.results.height) == SIZE[::-1]
    assert np.array_equal(report.results.columns["vmaf"], point.scores["vmaf"])
    with av.open(out) as file:
        assert next(file.decode(video=0)).rotation == 0


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(suffix: str, clip: Clip, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, hard))  # a file may not grow beyond this
    try:
        with pytest.raises(OutputError, match="could not be written: file too large"):
            encode_file(clip, fast("libx264"), 5, tmp_path / f"film{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("before", "room"), [(0, 9000), (20_000, 4000)])
def test_a_full_quota_ends_the_encode_and_leaves_nothing(
    before: int, room: int, clip: Clip, tmp_path: Path
) -> None:
    """Before the work if others have filled it, otherwise before the file gets its name."""
    (tmp_path / "other.mp4").write_bytes(bytes(before))
    limit_outputs(AllowedPaths([tmp_path], quota=before + room).check_room)
    try:
        with pytest.raises(PathError, match=r"has no room for .*film.mp4"):
            encode_file(clip, fast("libx264"), 5, tmp_path / "film.mp4")
    finally:
        limit_outputs(None)
    assert os.listdir(tmp_path) == ["other.mp4"]
