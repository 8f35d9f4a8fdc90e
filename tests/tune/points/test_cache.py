"""The cache: exact, shared by processes, bounded, and never in the way."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from acuity.tune.points.cache import Cache
from acuity.tune.points.point import Point


def made(quality: int = 23, frames: int = 5) -> Point:
    random = np.random.default_rng(quality)
    sizes = random.integers(1, 9000, frames)
    return Point(
        quality=quality,
        bytes=int(sizes.sum()),
        sizes=sizes,
        rate=Fraction(30000, 1001),
        scores={
            "vmaf": random.uniform(0, 100, frames),
            "psnr_y": np.array([1 / 3, np.inf, np.nan, -0.0, 5e-324]),
        },
        model="vmaf_v0.6.1",
        encoder_version="libx264 165",
        encode_seconds=0.1,
        notes=("a note",),
    )


def test_every_bit_of_a_point_comes_back(tmp_path: Path) -> None:
    point = made()
    Cache(str(tmp_path / "c")).put("key", point)
    back = Cache(str(tmp_path / "c")).get("key")
    assert back is not None
    assert back.cached
    assert back.rate == point.rate
    assert back.notes == point.notes
    assert back.sizes.dtype == np.int64
    assert back.sizes.tobytes() == point.sizes.tobytes()
    assert list(back.scores) == list(point.scores)
    assert all(back.scores[name].tobytes() == column.tobytes() for name, column in point.scores.items())
    assert (back.quality, back.bytes, back.model, back.encoder_version) == (
        23,
        point.bytes,
        "vmaf_v0.6.1",
        "libx264 165",
    )


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    one = made()
    cache = Cache(str(tmp_path / "c"), largest=4 * 1600)
    for name in "abc":
        cache.put(name, one)
    assert cache.get("a") is not None  # so b is the oldest
    for name in "de":
        cache.put(name, one)
    left = [name for name in "abcde" if cache.get(name) is not None]
    assert "b" not in left
    assert "e" in left
    assert len(left) < 5


_WRITER = """
import sys
sys.path.insert(0, {tests!r})
from test_cache import made
from acuity.tune.points.cache import Cache
cache = Cache({path!r})
for index in range(40):
    cache.put({name!r} + str(index), made(index))
    assert cache.get({name!r} + str(index)) is not None
assert not cache.notes, cache.notes
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "c")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER.format(tests=str(Path(__file__).parent), path=path, name=name)]
        )
        for name in ("one", "two")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    cache = Cache(path)
    for name in ("one", "two"):
        for index in range(40):
            point = cache.get(f"{name}{index}")
            assert point is not None
            assert np.array_equal(point.scores["vmaf"], made(index).scores["vmaf"])


@pytest.mark.parametrize("damage", [b"no database at all" * 400, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_moved_aside_with_a_note(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(damage)
    cache = Cache(str(path))
    cache.put("key", made())
    assert cache.get("key") is not None
    assert len(cache.notes) == 1
    assert "damaged" in cache.notes[0]
    assert str(path) in cache.notes[0]
    assert (tmp_path / "c.damaged").read_bytes() == damage


def test_an_unwritable_folder_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = Cache(str(tmp_path / "file" / "c"))
    cache.put("key", made())
    assert cache.get("key") is None
    assert len(cache.notes) == 1
    assert "ACUITY_CACHE" in cache.notes[0]


def test_tables_of_another_version_are_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "c"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    cache = Cache(str(path))
    cache.put("key", made())
    assert cache.get("key") is None
    assert "version 7" in cache.notes[0]
    assert path.read_bytes()[:60] == before[:60]


def test_others_cannot_read_the_file(tmp_path: Path) -> None:
    Cache(str(tmp_path / "made" / "c"))
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
    assert (tmp_path / "made" / "c").stat().st_mode & 0o077 == 0
