"""Containers by pipe: the same pictures and description as from the file, or a sentence with the remedy."""

from __future__ import annotations

import itertools
import os
import select
import threading
from pathlib import Path

import numpy as np
import pytest

from acuity.errors import FormatError, InputError, NoFramesError
from acuity.video import source
from acuity.video.readers import decoder
from acuity.video.readers.open import open_video
from acuity.video.readers.reader import BaseReader
from video_clips import encode, number_at, number_of, pair, piped

PATIENCE = 20.0
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov"}
CLIPS = [
    ("clip.mkv", "libx264", {}),
    ("clip.ts", "libx264", {}),
    ("clip.webm", "libvpx-vp9", {}),
    ("clip.avi", "mpeg4", {}),
    ("clip.flv", "libx264", {}),
    ("clip.mp4", "libx264", FRAGMENTED),
    ("clip.mp4", "libx264", {"movflags": "faststart"}),
    ("clip.h264", "libx264", {}),
]


def described(reader: BaseReader) -> list[object]:
    info = reader.info
    return [info.width, info.height, info.format, info.rate, info.variable_rate, info.codec, info.full_range]


@pytest.mark.parametrize(("name", "codec", "options"), CLIPS)
def test_a_pipe_gives_the_pictures(tmp_path: Path, name: str, codec: str, options: dict[str, str]) -> None:
    path = encode(tmp_path / name, codec=codec, frames=40, container_options=options)
    with open_video(path) as file, piped(tmp_path, path.read_bytes()) as pipe, open_video(pipe) as stream:
        assert described(stream) == described(file)
        assert not stream.info.seekable
        for number, (one, other) in enumerate(zip(file, stream, strict=True)):
            assert number_of(other) == number
            assert one.pts == other.pts
            assert all(map(np.array_equal, one.planes, other.planes))
        assert file.notes == stream.notes == []


def test_damage_that_threads_may_not_mark_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encode(tmp_path / "clip.mkv", frames=20)
    asked = itertools.count()
    monkeypatch.setattr(decoder, "logged", lambda: next(asked) // 8)
    with piped(tmp_path, path.read_bytes()) as pipe, open_video(pipe) as stream:
        assert [number_of(picture) for picture in stream] == list(range(20))
    (note,) = stream.notes
    assert (note.level, note.code) == ("warning", "damaged")
    assert note.text.endswith("pipe' may be damaged near frame 7, and it can't be read again to find out")


@pytest.mark.parametrize("name", ["clip.mkv", "clip.ts"])
def test_a_variable_rate_is_noticed(tmp_path: Path, name: str) -> None:
    path = encode(tmp_path / name, ticks=[0, 1, 2, 3, 7, 8, 9, 15, 16, 17])
    with piped(tmp_path, path.read_bytes()) as pipe, open_video(pipe) as reader:
        assert reader.info.variable_rate
        assert len(list(reader)) == 10


def test_avi_as_it_is_written_to_a_pipe(tmp_path: Path) -> None:
    """Its header promises 2^30 frames, because it can't be completed at the end."""
    path = encode(tmp_path / "clip.avi", codec="mpeg4", frames=40)
    data = bytearray(path.read_bytes())
    count = (40).to_bytes(4, "little")
    for tag, offset in ((b"avih", 24), (b"strh", 40)):
        at = data.index(tag) + offset
        assert data[at : at + 4] == count
        data[at : at + 4] = (1 << 30).to_bytes(4, "little")
    with piped(tmp_path, bytes(data)) as pipe, open_video(pipe) as reader:
        assert reader.info.frames is None
        assert [number_of(picture) for picture in reader] == list(range(40))


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mov"])
def test_an_index_at_the_end_is_refused(tmp_path: Path, name: str) -> None:
    said = r"index comes after its frames.*\+faststart"
    data = encode(tmp_path / name).read_bytes()
    with piped(tmp_path, data) as pipe, pytest.raises(FormatError, match=said):
        open_video(pipe)


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b"", NoFramesError, "empty"),
        (b"hello world\n" * 200, FormatError, "not a video"),
        (b"#EXTM3U\n#EXTINF:1,\nclip.ts\n", FormatError, "a playlist"),
        (np.random.default_rng(0).bytes(50_000), FormatError, "pass width=, height="),
    ],
)
def test_what_is_no_container(tmp_path: Path, data: bytes, error: type[InputError], says: str) -> None:
    with piped(tmp_path, data) as pipe, pytest.raises(error, match=says):
        open_video(pipe)


def test_a_truncated_pipe_is_refused(tmp_path: Path) -> None:
    data = encode(tmp_path / "clip.mp4", frames=40, container_options={"movflags": "faststart"}).read_bytes()
    said = pytest.raises(InputError, match="of the 40 frames it promises")
    with piped(tmp_path, data[: len(data) * 3 // 4]) as pipe, open_video(pipe) as reader, said:
        list(reader)


def test_frames_are_skipped_and_nothing_is_read_twice(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mkv", frames=10)
    with piped(tmp_path, path.read_bytes()) as pipe:
        pairing = pair(path, pipe, skip_ref=3, skip_dis=3, align="off")
        numbers = [(number_of(ref), number_of(dis)) for ref, dis in pairing]
    assert numbers == [(n, n) for n in range(3, 10)]
    with piped(tmp_path, path.read_bytes()) as pipe, open_video(pipe) as reader:
        assert number_at(reader, 4) == 4
        with pytest.raises(InputError, match="can only be read once, from its start"):
            reader.seek(0)
        assert len(list(reader)) == 5


def test_a_reader_that_waits_for_data_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = encode(tmp_path / "clip.mkv", codec="ffv1", frames=500, size=(32, 16))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = path.read_bytes()
    written, waiting, done = threading.Event(), threading.Event(), threading.Event()

    class Poller:
        """Tells when the reader has found the pipe empty after all was written."""

        def __init__(self, fd: int) -> None:
            self._poll = select.poll()
            self._poll.register(fd, select.POLLIN)

        def poll(self, milliseconds: int) -> list[tuple[int, int]]:
            all_written = written.is_set()
            found = self._poll.poll(milliseconds)
            if all_written and not found:
                waiting.set()
            return found

    monkeypatch.setattr(source, "_poller", Poller)

    def write() -> None:
        with pipe.open("wb", buffering=0) as end:
            end.write(data[: len(data) * 95 // 100])
            written.set()
            done.wait(9 * PATIENCE)

    writer = threading.Thread(target=write)
    writer.start()
    reader = open_video(pipe)
    caught: list[Exception] = []

    def read() -> None:
        try:
            list(reader)
        except InputError as error:
            caught.append(error)

    readers = threading.Thread(target=read)
    readers.start()
    assert waiting.wait(PATIENCE)
    closer = threading.Thread(target=reader.close)
    closer.start()
    closer.join(PATIENCE)
    readers.join(PATIENCE)
    try:
        assert not closer.is_alive()
        assert not readers.is_alive()
        assert "was closed" in str(caught[0])
    finally:
        done.set()
        writer.join(PATIENCE)
