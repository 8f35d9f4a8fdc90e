"""Pictures through pipes: order, bounds, and what happens when either side stops."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import BackendError, InputError
from acuity.jobs.tasks.external import score_opened
from acuity.jobs.tasks.picture_pipes import PicturePipes, raw_options
from acuity.video.picture import Picture, PixelFormat
from scoring_clips import fake_vmaf

FORMAT = PixelFormat("420", 10)
SIDE = 16
BYTES = FORMAT.frame_bytes(SIDE, SIDE)


def picture(index: int) -> Picture:
    """Rows are padded, as decoders leave them."""
    planes = [np.full((rows, columns + 8), index, np.uint16)[:, :columns]
              for rows, columns in FORMAT.plane_shapes(SIDE, SIDE)]  # fmt: skip
    return Picture(tuple(planes), FORMAT)


class Pairs:
    """A pairing without videos; counts what was taken from it."""

    def __init__(self, count: int, failure: Exception | None = None, **shape: Any) -> None:
        self.width, self.height, self.format = SIDE, SIDE, FORMAT
        self.taken = 0
        self._count, self._failure = count, failure
        for name, value in shape.items():
            setattr(self, name, value)

    def __iter__(self) -> Iterator[tuple[Picture, Picture]]:
        for index in range(self._count):
            self.taken += 1
            yield picture(index), picture(1000 + index)
        if self._failure is not None:
            raise self._failure


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    descriptors, threads = set(os.listdir("/dev/fd")), threading.active_count()
    yield
    assert set(os.listdir("/dev/fd")) <= descriptors
    assert threading.active_count() <= threads  # fewer where one of an earlier test has ended meanwhile


def score(binary: Path, pairs: Any) -> dict[str, Any]:
    with contextlib.closing(PicturePipes()) as pipes:
        return score_opened(str(binary), pipes.inputs, [], feed=lambda: pipes.feed(pairs, lambda _: None))


READ = f"""
import struct
def numbers(path):
    with open(path, "rb") as file:
        while frame := file.read({BYTES}):
            yield struct.unpack_from("<H", frame)[0], len(set(frame[::2]))
"""


def test_every_picture_arrives_whole_and_in_order(tmp_path: Path) -> None:
    told = 'report(seen=[list(pair) for pair in zip(numbers(after("-r")), numbers(after("-d")))])'
    found = score(fake_vmaf(tmp_path / "vmaf", scoring=READ + told), Pairs(20))
    assert found["seen"] == [[[n, 1], [(1000 + n), 1]] for n in range(20)]


def test_a_reader_that_stops_early_stops_the_decoding(tmp_path: Path) -> None:
    binary = fake_vmaf(tmp_path / "vmaf", scoring="report()")
    pairs = Pairs(10_000)
    assert score(binary, pairs)["frames"] == []
    assert pairs.taken < 10_000


def test_decoding_that_fails_ends_the_reader(tmp_path: Path) -> None:
    reads = READ + 'list(numbers(after("-d"))); list(numbers(after("-r")))'
    binary = fake_vmaf(tmp_path / "vmaf", scoring=reads)
    with pytest.raises(InputError, match="frame 1 is damaged"):
        score(binary, Pairs(1, InputError("frame 1 is damaged")))


def test_a_binary_that_cannot_start_leaves_nothing_open(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="can't be run"):
        score(tmp_path / "none", Pairs(3))


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"format": PixelFormat("420", 9)}, "9 bit"),
        ({"width": 15}, "15x16 in 420"),
        ({"format": PixelFormat("422", 8), "width": 15}, "15x16 in 422"),
    ],
)
def test_what_binaries_are_not_given(shape: dict[str, Any], sentence: str) -> None:
    pairs: Any = Pairs(0, **shape)
    with pytest.raises(BackendError, match=f"{sentence}.*unset VMAF_BIN"):
        raw_options(pairs)
