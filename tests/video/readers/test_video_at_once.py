"""Raw and Y4M files read by several threads at once: the pictures of one thread, the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acuity.errors import InputError
from acuity.video.buffers import Bytes
from acuity.video.picture import PixelFormat
from acuity.video.readers.raw import RawReader
from acuity.video.readers.reader import BaseReader
from acuity.video.readers.y4m import Y4mReader
from video_clips import random_planes, raw_bytes, same, y4m_bytes

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
