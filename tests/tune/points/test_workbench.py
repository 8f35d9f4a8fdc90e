"""The workbench: points from the cache or by encoding, side by side, with a stop."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from acuity.errors import AcuityError
from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import Cache, Point, PointScoring, measure
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Progress, Stopped
from tune_clips import IN_PROCESS, fast, write_video, write_y4m

FAST = EncoderSettings(find_encoder("libx264"), preset="ultrafast")
SCORING = PointScoring(model="version=vmaf_v0.6.1")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("bench") / "clip.y4m", frames=12))


def test_makes_points_in_order_and_a_failed_one_is_its_error(clip: Clip) -> None:
    bench = Workbench(SCORING)
    refused = EncoderSettings(find_encoder("libx264"), size=(4096, 96))
    wanted = [(clip, FAST, 20), (clip, refused, 20), (clip, FAST, 40)]
    good, bad, worse = bench.points(wanted)
    assert isinstance(good, Point)
    assert isinstance(worse, Point)
    assert isinstance(bad, AcuityError)
    assert (good.quality, worse.quality) == (20, 40)
    assert good.pool() > worse.pool()
    assert good.bytes > worse.bytes
    assert bench.encodes == 2


def test_a_warm_rerun_makes_no_encode(clip: Clip, tmp_path: Path) -> None:
    path = str(tmp_path / "cache.sqlite")
    cold = Workbench(SCORING, cache=Cache(path))
    first = cold.point(clip, FAST, 30)
    warm = Workbench(SCORING, cache=Cache(path), cores=1)
    second = warm.point(clip, FAST, 30)
    assert (cold.encodes, warm.encodes) == (1, 0)
    assert (first.cached, second.cached) == (False, True)
    assert second.pool() == first.pool()
    assert list(warm.known(clip, FAST, range(52))) == [30]


def test_the_same_point_is_encoded_once_for_all_who_ask(clip: Clip) -> None:
    bench = Workbench(SCORING, cores=4)
    points = list(bench.points([(clip, FAST, 33)] * 4))
    assert len(points) == 4
    assert bench.encodes == 1


def test_stop_ends_what_is_under_way_and_keeps_what_is_finished(tmp_path: Path) -> None:
    long = open_clip(write_y4m(tmp_path / "long.y4m", frames=200, width=320, height=192))
    short = open_clip(write_y4m(tmp_path / "short.y4m", frames=4))
    slow = EncoderSettings(find_encoder("libx264"), preset="slower")
    begun = threading.Event()

    def listen(progress: Progress) -> None:
        if progress.frames > 0:
            begun.set()

    bench = Workbench(SCORING, listener=listen)
    bench.point(short, FAST, 30)
    begun.clear()
    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(lambda: list(bench.points([(long, slow, 20), (long, slow, 21)])))
        assert begun.wait(60)
        bench.stop()
        with pytest.raises(Stopped):
            work.result(5)
    assert bench.encodes == 1
    with pytest.raises(Stopped):
        bench.point(short, FAST, 31)
    assert Workbench(SCORING, cache=bench.cache).point(short, FAST, 30).cached


def test_progress_counts_encodes_and_frames(clip: Clip) -> None:
    seen: list[Progress] = []
    bench = Workbench(SCORING, listener=seen.append)
    bench.tally.plan(3)
    bench.point(clip, FAST, 30)
    bench.point(clip, FAST, 30)
    bench.tally.set_best("crf 30: VMAF 90")
    bench.point(clip, FAST, 31)
    assert [seen[0].encodes_done, seen[-1].encodes_done] == [0, 3]
    assert {progress.encodes_planned for progress in seen} == {3}
    assert any(progress.frames == 12 and progress.total == 12 for progress in seen)
    assert seen[-1].best == "crf 30: VMAF 90"
    assert seen[-1].eta_seconds == 0
    assert all("libx264 crf 3" in progress.task for progress in seen)


# ---- The cache: exact, shared by processes, bounded, and never in the way ----


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
    assert back.sizes.dtype == np.int64
    assert back.sizes.tobytes() == point.sizes.tobytes()
    assert list(back.scores) == list(point.scores)
    assert all(back.scores[name].tobytes() == column.tobytes() for name, column in point.scores.items())
    others = set(Point.__dataclass_fields__) - {"sizes", "scores", "cached"}
    assert [getattr(back, name) for name in others] == [getattr(point, name) for name in others]


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
sys.path[:] = {paths!r}
from test_workbench import made
from acuity.tune.points.point import Cache
cache = Cache({path!r})
for index in range(40):
    cache.put({name!r} + str(index), made(index))
    assert cache.get({name!r} + str(index)) is not None
assert not cache.notes, cache.notes
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "c")
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER.format(paths=sys.path, path=path, name=name)])
        for name in ("one", "two")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    cache = Cache(path)
    for key, index in ((f"{name}{index}", index) for name in ("one", "two") for index in range(40)):
        point = cache.get(key)
        assert point is not None
        assert np.array_equal(point.scores["vmaf"], made(index).scores["vmaf"])


@pytest.mark.parametrize("damage", [b"no database at all" * 400, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_moved_aside_with_a_note(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "c"
    path.write_bytes(damage)
    cache = Cache(str(path))
    cache.put("key", made())
    assert cache.get("key") is not None
    (note,) = cache.notes
    assert "damaged" in note
    assert str(path) in note
    assert (tmp_path / "c.damaged").read_bytes() == damage


def without_folder(path: Path) -> None:
    path.parent.write_bytes(b"")


def of_another_version(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")


@pytest.mark.parametrize(
    ("prepare", "said"), [(without_folder, "ACUITY_CACHE"), (of_another_version, "version 7")]
)
def test_a_file_that_cannot_be_used_is_a_note(
    tmp_path: Path, prepare: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "folder" / "c"
    prepare(path)
    before = path.read_bytes() if path.is_file() else None
    cache = Cache(str(path))
    cache.put("key", made())
    assert cache.get("key") is None
    (note,) = cache.notes
    assert said in note
    assert before is None or path.read_bytes()[:60] == before[:60]


def test_others_cannot_read_the_file(tmp_path: Path) -> None:
    Cache(str(tmp_path / "made" / "c"))
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
    assert (tmp_path / "made" / "c").stat().st_mode & 0o077 == 0


# ---- measure(): encoding and scoring as one stream, and shots with the figures they h ----


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("clips") / "source.y4m", 30, 160, 96))


@pytest.mark.parametrize("name", IN_PROCESS)
def test_an_encode_is_measured(name: str, longer: Clip) -> None:
    settings = fast(name)
    good, poor = (measure(longer, settings, quality, PointScoring(metrics=("psnr",))) for quality in (18, 45))
    assert good.frames == poor.frames == 30
    assert good.sizes.sum() == good.bytes > poor.bytes > 0
    assert 100 >= good.pool() > poor.pool() > 0
    assert good.pool("psnr_y") > poor.pool("psnr_y")
    assert good.bitrate_kbps == pytest.approx(good.bytes * 8 * 25 / 30 / 1000)
    assert good.encoder_version.startswith(name)


def test_the_bitrate_of_a_variable_rate_is_by_the_time_that_the_frames_are_shown(tmp_path: Path) -> None:
    stamps = [0, 40, 80, 120, 160, 320, 480, 640, 800, 960]
    varied = open_clip(write_video(tmp_path / "varied.mkv", stamps=stamps))
    point = measure(varied, fast("libx264"), 30)
    assert point.seconds == pytest.approx(1.0, abs=1e-6)  # the last frame is shown for 40 ms
    assert point.bitrate_kbps == pytest.approx(point.bytes * 8 / 1000, rel=1e-6)
    assert varied.frames == len(stamps)
    start = measure(varied.of(Part(0, 5)), fast("libx264"), 30)
    assert start.seconds == pytest.approx(0.16 + 0.1, abs=1e-3)  # of the last one, the mean is known
    even = replace(varied, info=replace(varied.info, variable_rate=False))
    assert even.digest() != varied.digest()


# Every frame alone and of the same quantiser: a frame's picture is the same wherever the encode begins.
SETTINGS = EncoderSettings(
    find_encoder("libx264"), preset="ultrafast", keyframe_interval=1, options=(("x264-params", "qp=34"),)
)


def test_a_shots_figures_are_those_of_the_whole_video(longer: Clip) -> None:
    whole = measure(longer, SETTINGS, 30)
    shot = measure(longer.shot(Part(20, 30)), SETTINGS, 30)
    alone = measure(longer.of(Part(20, 30)), SETTINGS, 30)
    assert len(shot.scores["vmaf"]) == shot.frames == 10
    assert np.array_equal(shot.sizes, alone.sizes), "the encode is the same"
    assert np.array_equal(shot.scores["vmaf"], whole.scores["vmaf"][20:])
    assert np.array_equal(alone.scores["vmaf"][1:], whole.scores["vmaf"][21:])
    assert abs(alone.scores["vmaf"][0] - whole.scores["vmaf"][20]) > 3
    assert longer.shot(Part(20, 30)).digest() != longer.of(Part(20, 30)).digest()
    assert not longer.shot(Part(20, 30)).of(Part(0, 5)).led
