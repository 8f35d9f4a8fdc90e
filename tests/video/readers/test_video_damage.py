"""Files that are cut off, damaged or no video at all: read to the last frame, or refused in a sentence."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import av
import numpy as np
import pytest

from acuity.errors import FormatError, InputError, TruncatedError
from acuity.video.readers import decoder
from acuity.video.readers.container import ContainerReader
from damaged_clip import FRAGILE, damage, packet_at
from everyday_clips import wiped
from video_clips import encode, number_of


@pytest.fixture(scope="module")
def mp4(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An MP4 whose index comes first, so that it opens even when its end is missing."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    options = {"movflags": "faststart"}
    return encode(path, frames=40, container_options=options).read_bytes()


@pytest.fixture(scope="module")
def mkv(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return encode(tmp_path_factory.mktemp("clip") / "clip.mkv", frames=40).read_bytes()


def read_all(path: Path, data: bytes, **wish: bool) -> int:
    path.write_bytes(data)
    with ContainerReader(path, **wish) as reader:
        return sum(1 for _ in reader)


@pytest.mark.parametrize("part", [0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_does_not_just_end(tmp_path: Path, mp4: bytes, mkv: bytes, part: float) -> None:
    assert read_all(tmp_path / "clip.mp4", mp4) == read_all(tmp_path / "clip.mkv", mkv) == 40
    with pytest.raises(TruncatedError, match=r"clip\.mp4"):
        read_all(tmp_path / "clip.mp4", mp4[: int(len(mp4) * part)])
    if part < 0.9:  # the last bytes of a Matroska file are its index
        with pytest.raises(TruncatedError, match=r"clip\.mkv.* of the 1\.600 s"):
            read_all(tmp_path / "clip.mkv", mkv[: int(len(mkv) * part)])


def test_a_packet_that_cannot_be_decoded_names_file_and_frame(tmp_path: Path, mp4: bytes) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4)
    position, _ = packet_at(path, 20)
    damaged = mp4[:position] + b"\xff" * 4 + mp4[position + 4 :]  # no NAL unit is that long
    says = r"clip\.mp4' cannot be decoded at frame (1\d|20) \(invalid data .*\): copy or encode it again, or"
    with pytest.raises(InputError, match=says):
        read_all(path, damaged)


def test_a_file_that_was_not_read_from_its_start_is_not_called_short(tmp_path: Path) -> None:
    options = {"movflags": "faststart"}
    path = encode(tmp_path / "clip.mp4", frames=120, options={"g": "20"}, container_options=options)
    position, _ = packet_at(path, 110)
    data = path.read_bytes()
    path.write_bytes(data[:position] + b"\xff" * 4 + data[position + 4 :])
    with ContainerReader(path, allow_damaged=True) as reader:
        reader.seek(90)
        with pytest.raises(InputError, match=r"clip\.mp4' cannot be decoded at frame 10\d"):
            list(reader)


def test_damaged_frames_are_refused_unless_they_are_allowed(tmp_path: Path) -> None:
    path = damage(encode(tmp_path / "clip.mkv", frames=40, options={"x264-params": FRAGILE}), 20)
    refused = pytest.raises(InputError, match=r"frame 20 .* is damaged.*allow_damaged=True")
    with refused, ContainerReader(path) as reader:
        list(reader)
    with ContainerReader(path, allow_damaged=True) as reader:
        assert sum(1 for _ in reader) == 40
    assert [note.code for note in reader.notes] == ["damaged"]
    assert "frame 20 " in reader.notes[0].text


def test_a_hole_is_named_by_its_place_however_many_threads_decode(tmp_path: Path) -> None:
    path = wiped("hole.ts")(tmp_path)
    said = []
    for threads in (1, 2, 16):
        with pytest.raises(TruncatedError) as caught, ContainerReader(path, threads=threads) as reader:
            list(reader)
        said.append(str(caught.value))
    assert "is damaged or incomplete near frame 5:" in said[0]
    assert said == said[:1] * 3


def test_what_decoders_log_about_damage_is_counted(tmp_path: Path) -> None:
    path = damage(encode(tmp_path / "clip.mp4", frames=40, options={"x264-params": FRAGILE}), 20)
    before = decoder.logged()
    with ContainerReader(path, threads=4) as reader, pytest.raises(InputError, match="frame 20 of"):
        list(reader)
    assert decoder.logged() > before
    av.logging.set_level(av.logging.ERROR)
    try:
        assert not decoder.listen()  # PyAV has the log
    finally:
        av.logging.set_level(None)
    assert decoder.listen()


@pytest.mark.parametrize("logged_at", [0, 1, 17, 39])
@pytest.mark.parametrize("start", [0, 30])
def test_after_damage_that_threads_may_not_have_marked_one_decodes_alone(
    logged_at: int, start: int, tmp_path: Path, mp4: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It decodes from the start, and hands out only what wasn't yet; of a whole file, everything is whole."""
    path = tmp_path / "clip.mp4"
    path.write_bytes(mp4)
    with ContainerReader(path, threads=1) as reader:
        expected = [(picture.pts, picture.luma.copy()) for picture in reader][start:]
    asked = itertools.count(-1)  # when it is opened, and then before each frame
    monkeypatch.setattr(decoder, "logged", lambda: int(next(asked) >= logged_at))
    with ContainerReader(path, threads=4) as reader:
        reader.seek(start)
        found = [(picture.pts, picture.luma.copy()) for picture in reader]
    assert [pts for pts, _ in found] == [pts for pts, _ in expected]
    for (_, luma), (_, wanted) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(luma, wanted)
    assert reader.notes == []


def test_one_thread_goes_on_from_a_keyframe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encode(tmp_path / "clip.mp4", frames=120, options={"g": "20"})
    with ContainerReader(path, threads=4) as reader:
        reader.seek(90)
        assert reader.read() is not None
        before = decoder.logged()
        monkeypatch.setattr(decoder, "logged", lambda: before + 1)
        found = [(picture.pts, number_of(picture)) for picture in reader]
    assert found == [(number / 25, number % 64) for number in range(91, 120)]  # a picture shows six bits


def test_damage_looks_alike_in_every_run(tmp_path: Path) -> None:
    """FFmpeg's threads would conceal what is missing in two or three ways."""
    path = wiped("hole.ts")(tmp_path)

    def pictures(threads: int) -> str:
        seen = hashlib.sha256()
        with ContainerReader(path, threads=threads, allow_damaged=True) as reader:
            for picture in reader:
                seen.update(picture.luma.tobytes())
        return seen.hexdigest()

    assert {pictures(0) for _ in range(15)} == {pictures(4) for _ in range(15)} == {pictures(1)}


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("notes.mp4", b"hello world\n" * 200, "not a video"),
        ("noise.mkv", np.random.default_rng(0).bytes(50_000), "not a video"),
        ("zeros.mov", bytes(50_000), "not a video"),
        ("words.srt", b"1\n00:00:01,000 --> 00:00:02,000\nhello\n\n" * 9, "no video"),
        ("list.m3u8", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nclip.ts\n#EXT-X-ENDLIST\n", "playlist"),
        ("list.txt", b"ffconcat version 1.0\nfile clip.ts\n", "playlist"),
        ("list.mpd", b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash"/>', "is XML, such as a playlist,"),
        (
            "late.m3u8",
            b"\xef\xbb\xbf\n #EXTM3U\n#EXTINF:1,\nclip.ts\n",
            "a playlist, not a video: pass",
        ),
        ("login.mp4", b"\n<!DOCTYPE HTML>\n<title>Log in</title>", "is a web page, not a video"),
    ],
)
def test_files_that_are_no_video(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    encode(tmp_path / "clip.ts")
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FormatError, match=says) as caught:
        ContainerReader(path)
    assert str(path) in str(caught.value)


def test_a_size_that_changes_midway_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "both.m2v"
    parts = [encode(path, codec="mpeg2video", frames=8, size=s).read_bytes() for s in ((96, 64), (64, 32))]
    path.write_bytes(b"".join(parts))
    with ContainerReader(path) as reader, pytest.raises(InputError, match=r"changes at frame [78] .*64x32"):
        list(reader)


@pytest.mark.parametrize("seed", range(40))
def test_mutated_files_are_read_or_refused(tmp_path: Path, mp4: bytes, mkv: bytes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray((mp4, mkv)[seed % 2])
    for _ in range(int(rng.integers(1, 12))):
        position = int(rng.integers(0, len(data) if seed % 3 else 1200))
        if rng.random() < 0.7:
            data[position] = int(rng.integers(0, 256))
        else:
            del data[position : position + int(rng.integers(1, 30))]
    try:
        assert read_all(tmp_path / "clip", bytes(data)) > 0
    except InputError as error:
        told = str(error)
        assert str(tmp_path) in told
        assert "\n" not in told
