"""The workbench: points from the cache or by encoding, side by side, with a stop."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from acuity.errors import AcuityError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.cache import Cache
from acuity.tune.points.point import Point, PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Progress, Stopped
from tune_clips import write_y4m

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


def test_warm_rerun_makes_no_encode_and_equals_the_first(clip: Clip, tmp_path: Path) -> None:
    path = str(tmp_path / "cache.sqlite")
    cold = Workbench(SCORING, cache=Cache(path))
    first = cold.point(clip, FAST, 30)
    warm = Workbench(SCORING, cache=Cache(path), cores=1)
    second = warm.point(clip, FAST, 30)
    assert (cold.encodes, warm.encodes) == (1, 0)
    assert not first.cached
    assert second.cached
    assert second.bytes == first.bytes
    assert second.rate == first.rate
    assert second.model == first.model
    assert np.array_equal(second.sizes, first.sizes)
    assert second.scores.keys() == first.scores.keys()
    assert all(np.array_equal(second.scores[name], first.scores[name]) for name in first.scores)
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
    ended: list[BaseException] = []

    def work() -> None:
        try:
            list(bench.points([(long, slow, 20), (long, slow, 21), (long, slow, 22)]))
        except Stopped as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    bench.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert ended
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
