"""Reading ahead: bounded, in order, with errors in their place, and without leftover threads."""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.prefetch import Prefetch, ReadAhead


def picture(number: int) -> Picture:
    return Picture((np.full((1, 1), number, np.uint8),), PixelFormat("400", 8))


def pictures(count: int) -> Callable[[int], Picture | None]:
    made = map(picture, range(count))
    return lambda _: next(made, None)


def take_all(prefetch: Prefetch) -> list[int]:
    taken = []
    while (picture := prefetch.take()) is not None:
        taken.append(int(picture.luma[0, 0]))
    return taken


def test_a_thread_that_waits_is_woken_when_there_is_room_for_several() -> None:
    produced = threading.Semaphore(0)
    made: list[int] = []
    produce = pictures(100)

    def counting(number: int) -> Picture | None:
        made.append(number)
        produced.release()
        return produce(number)

    prefetch = Prefetch(counting, ReadAhead(8, room=4), name="test")
    for _ in range(8):
        assert produced.acquire(timeout=30)
    for _ in range(3):
        prefetch.take()
    assert len(made) == 8
    prefetch.take()
    for _ in range(4):
        assert produced.acquire(timeout=30)
    assert len(take_all(prefetch)) == 96
    prefetch.join()


def test_stopping_ends_a_thread_that_waits_for_room() -> None:
    prefetch = Prefetch(pictures(100), ReadAhead(2), name="stopped")
    prefetch.take()
    prefetch.stop()
    prefetch.join()
    assert prefetch.take() is None
    assert not [thread for thread in threading.enumerate() if "stopped" in thread.name]


def test_whether_a_picture_is_there_can_be_asked() -> None:
    let = threading.Semaphore(0)
    produce = pictures(2)

    def slowly(number: int) -> Picture | None:
        let.acquire()
        return produce(number)

    prefetch = Prefetch(slowly, ReadAhead(1), name="test")
    assert not prefetch.ready(0.0)
    let.release()
    assert prefetch.ready(30.0)
    assert prefetch.take() is not None
    assert not prefetch.ready(0.0)
    let.release(2)
    assert prefetch.ready(30.0)
    assert prefetch.take() is not None
    assert prefetch.ready(30.0)  # the end is no wait either
    assert prefetch.take() is None
    prefetch.join()


@settings(max_examples=40, deadline=None)
@given(
    threads=st.integers(1, 5),
    ahead=st.integers(1, 9),
    count=st.integers(0, 30),
    broken=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_order_is_kept_in_whatever_order_threads_finish(
    threads: int, ahead: int, count: int, broken: bool, seed: int
) -> None:
    """The test lets one of the calls under way go on at a time, chosen by chance."""
    begun: queue.Queue[int] = queue.Queue()
    may_end = [threading.Semaphore(0) for _ in range(count + threads)]
    most_under_way = 0

    def produce(number: int) -> Picture | None:
        begun.put(number)
        may_end[number].acquire()
        if number < count:
            return picture(number)
        if broken:
            raise KeyError(number)
        return None

    prefetch = Prefetch(produce, ReadAhead(ahead, threads), name="test")
    chance = random.Random(seed)
    under_way: list[int] = []
    ended: set[int] = set()
    taken: list[int] = []
    while len(taken) < count:
        while len(taken) not in ended:
            while not under_way or not begun.empty():
                under_way.append(begun.get(timeout=30))
            most_under_way = max(most_under_way, len(under_way))
            assert max(under_way) < len(taken) + ahead
            number = under_way.pop(chance.randrange(len(under_way)))
            may_end[number].release()
            ended.add(number)
        got = prefetch.take()
        assert got is not None
        taken.append(int(got.luma[0, 0]))
    for semaphore in may_end:
        semaphore.release()
    assert taken == list(range(count))
    assert most_under_way <= min(threads, ahead)
    for _ in range(2):
        if broken:
            with pytest.raises(KeyError, match=str(count)):
                prefetch.take()
        else:
            assert prefetch.take() is None
    prefetch.join()


def test_fewer_threads_do_if_the_system_allows_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = threading.Thread.start, 0

    def start(thread: threading.Thread) -> None:
        nonlocal started
        if started == 2:
            raise RuntimeError("can't start new thread")
        started += 1
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    prefetch = Prefetch(pictures(10), ReadAhead(4, 4), name="few")
    assert sorted(take_all(prefetch)) == list(range(10))
    prefetch.join()
    with pytest.raises(RuntimeError, match="new thread"):
        Prefetch(pictures(10), ReadAhead(4, 4), name="none")


@pytest.mark.parametrize(
    ("frame_bytes", "how", "expected"),
    [
        (1920 * 1080 * 3 // 2, {}, ReadAhead(4)),
        (1920 * 1080 * 3 // 2, {"concurrent": True}, ReadAhead(8, 4)),
        (3840 * 2160 * 3 // 2, {}, ReadAhead(2)),
        (3840 * 2160 * 3 // 2, {"concurrent": True}, ReadAhead(5, 4)),
        (1 << 30, {"concurrent": True}, ReadAhead(1, 1)),
        (1000, {"concurrent": True}, ReadAhead(32, 1)),  # handing it over takes longer than reading it
        (1 << 20, {"ahead": 2, "concurrent": True}, ReadAhead(2, 2)),
        (1 << 20, {"ahead": 30, "concurrent": True}, ReadAhead(30, 4)),
        (1 << 20, {"ahead": 30}, ReadAhead(30, 1)),
        (3 << 20, {"decoded": True}, ReadAhead(32, 1, room=16)),  # of a card: handed over many at a time
        (24 << 20, {"decoded": True}, ReadAhead(5, 1, room=2)),
        (100 << 20, {"decoded": True}, ReadAhead(4, 1, room=2)),
        (3 << 20, {"decoded": True, "ahead": 2}, ReadAhead(2)),
    ],
)
def test_how_far_is_read_ahead_by_how_many(
    frame_bytes: int, how: dict[str, Any], expected: ReadAhead
) -> None:
    assert ReadAhead.of(frame_bytes, **how) == expected
