"""Raw and Y4M files read by several threads at once: the pictures of one thread, the same refusals."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acuity.errors import FormatError, InputError, NoFramesError, TruncatedError
from acuity.video.buffers import Bytes
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.open import OpenOptions, RawGeometry, open_as
from acuity.video.readers.raw import RawReader
from acuity.video.readers.reader import BaseReader
from acuity.video.readers.y4m import Y4mReader
from video_clips import feed, random_planes, raw_bytes, same, y4m_bytes

FORMAT = PixelFormat("420", 10)
WIDTH, HEIGHT = 15, 9
FRAMES = [random_planes(FORMAT, WIDTH, HEIGHT, seed) for seed in range(12)]
TAGS = f"W{WIDTH} H{HEIGHT} C420p10"

Open = Callable[..., BaseReader]


def write_raw(folder: Path, **options: Any) -> BaseReader:
    path = folder / "clip.yuv"
    path.write_bytes(raw_bytes(FRAMES))
    return RawReader(path, WIDTH, HEIGHT, FORMAT, **options)


def write_y4m(folder: Path, **options: Any) -> BaseReader:
    path = folder / "clip.y4m"
    path.write_bytes(y4m_bytes(FRAMES, TAGS))
    return Y4mReader(path, **options)


both = pytest.mark.parametrize("write", [write_raw, write_y4m])


@both
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers=st.lists(st.integers(0, 14), max_size=40), luma_only=st.booleans())
def test_any_picture_by_any_thread(tmp_path: Path, write: Open, numbers: list[int], luma_only: bool) -> None:
    with write(tmp_path, luma_only=luma_only) as reader, ThreadPoolExecutor(4) as threads:
        assert reader.concurrent
        found = list(threads.map(reader.picture_at, numbers))
        for number, picture in zip(numbers, found, strict=True):
            if number >= len(FRAMES):
                assert picture is None
            else:
                assert picture is not None
                assert same(picture, FRAMES[number][: 1 if luma_only else 3])
        assert len(list(reader)) == len(FRAMES)  # read() begins where it would have


@both
def test_it_takes_the_memory_it_is_given(tmp_path: Path, write: Open) -> None:
    given: list[Bytes] = []

    def allocate(size: int) -> Bytes:
        given.append(np.zeros(size + 100, np.uint8))
        return given[-1]

    with write(tmp_path, allocate=allocate) as reader:
        picture = reader.picture_at(3)
        assert picture is not None
        assert same(picture, FRAMES[3])
        assert all(np.shares_memory(plane, given[0]) for plane in picture.planes)
        assert len(given) == 1


@both
def test_the_table_of_readers_passes_the_memory_on(tmp_path: Path, write: Open) -> None:
    used: list[int] = []

    def allocate(size: int) -> Bytes:
        used.append(size)
        return np.zeros(size, np.uint8)

    with write(tmp_path) as reader:
        path, raw = reader.info.path, reader.info.kind == "raw"
    said = RawGeometry(WIDTH, HEIGHT, "420", 10) if raw else RawGeometry()
    with open_as(path, said, OpenOptions(allocate=allocate)) as reader:
        assert next(iter(reader)) is not None
    assert len(used) == 1


@both
def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path, write: Open) -> None:
    with write(tmp_path) as reader:
        size = os.path.getsize(reader.info.path)
        os.truncate(reader.info.path, size - 10)
        assert reader.picture_at(10) is not None
        with pytest.raises(TruncatedError, match="frame 11"):
            reader.picture_at(11)


@both
def test_what_is_closed_is_not_read(tmp_path: Path, write: Open) -> None:
    reader = write(tmp_path)
    reader.close()
    with pytest.raises(InputError, match="was closed"):
        reader.picture_at(0)
    reader.close()


def test_a_raw_file_that_grows_has_the_frames_it_had(tmp_path: Path) -> None:
    with write_raw(tmp_path) as reader:
        with open(reader.info.path, "ab") as file:
            file.write(raw_bytes(FRAMES))
        assert reader.picture_at(len(FRAMES)) is None
        assert reader.picture_at(len(FRAMES) - 1) is not None


def test_a_y4m_file_that_was_emptied(tmp_path: Path) -> None:
    with write_y4m(tmp_path) as reader:
        os.truncate(reader.info.path, len(TAGS) + 11)
        assert reader.picture_at(4) is None
        with pytest.raises(NoFramesError, match="no frame"):
            reader.picture_at(0)


def test_alpha_is_passed_over(tmp_path: Path) -> None:
    format = PixelFormat("444", 8)
    frames = [random_planes(format, 6, 4, seed) for seed in range(5)]
    path = tmp_path / "clip.y4m"
    path.write_bytes(y4m_bytes([[*planes, planes[0]] for planes in frames], "W6 H4 C444alpha"))
    with Y4mReader(path) as reader:
        for number in (4, 1, 3):
            picture = reader.picture_at(number)
            assert picture is not None
            assert same(picture, frames[number])


def test_lines_of_other_lengths_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "clip.y4m"
    path.write_bytes(y4m_bytes(FRAMES, TAGS, lambda n: b"FRAME Ip\n" if n % 3 == 1 else b"FRAME\n"))
    with Y4mReader(path) as reader:
        assert not reader.concurrent
        assert all(same(picture, planes) for picture, planes in zip(reader, FRAMES, strict=True))


def test_lines_that_make_up_for_a_frame(tmp_path: Path) -> None:
    """The first and the last line are where plain lines would be, and one between them isn't."""
    size = FORMAT.frame_bytes(WIDTH, HEIGHT)
    long = b"FRAME X".ljust(size + 2 * len(b"FRAME\n") - 1, b"x") + b"\n"  # a frame and its line longer
    path = tmp_path / "clip.y4m"
    path.write_bytes(y4m_bytes(FRAMES[:4], TAGS, lambda n: long if n == 1 else b"FRAME\n"))
    with Y4mReader(path) as reader:
        assert reader.concurrent
        assert reader.info.frames == 5
        assert all(same(picture, planes) for picture, planes in zip(reader, FRAMES[:4], strict=True))
        second = reader.picture_at(1)
        assert second is not None
        assert same(second, FRAMES[1])
        with pytest.raises(FormatError, match=r"frame 2 of .* does not begin with a FRAME line"):
            reader.picture_at(2)


def test_pipes_are_read_in_order(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = feed(pipe, raw_bytes(FRAMES))
    with RawReader(pipe, WIDTH, HEIGHT, FORMAT) as reader:
        assert not reader.concurrent
        assert all(same(picture, planes) for picture, planes in zip(reader, FRAMES, strict=True))
    writer.join()
    writer = feed(pipe, y4m_bytes(FRAMES, TAGS))
    with Y4mReader(pipe) as reader:
        assert not reader.concurrent
        assert all(same(picture, planes) for picture, planes in zip(reader, FRAMES, strict=True))
    writer.join()


def test_other_readers_have_no_such_thing() -> None:
    class Own(BaseReader):
        def read(self) -> Picture | None:
            return None

    assert not Own().concurrent
    with pytest.raises(NotImplementedError):
        Own().picture_at(0)
