"""Reading ahead: bounded, in order, with errors in their place, and without leftover threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.prefetch import Prefetch, Reading


def pictures(count: int, error: Exception | None = None) -> Callable[[int], Picture | None]:
    numbers = iter(range(count))

    def produce(_: int) -> Picture | None:
        number = next(numbers, None)
        if number is None:
            if error is not None:
                raise error
            return None
        return Picture((np.full((1, 1), number, np.uint8),), PixelFormat("400", 8))

    return produce


def take_all(prefetch: Prefetch) -> list[int]:
    taken = []
    while (picture := prefetch.take()) is not None:
        taken.append(int(picture.luma[0, 0]))
    return taken


@pytest.mark.parametrize("ahead", [1, 3, 100])
def test_everything_comes_in_order(ahead: int) -> None:
    prefetch = Prefetch(pictures(50), Reading(ahead), name="test")
    assert take_all(prefetch) == list(range(50))
    assert prefetch.take() is None
    prefetch.join()


def test_an_error_comes_after_the_pictures_before_it() -> None:
    prefetch = Prefetch(pictures(5, KeyError("broken")), Reading(2), name="test")
    assert [int(prefetch.take().luma[0, 0]) for _ in range(5)] == list(range(5))  # type: ignore[union-attr]
    for _ in range(2):
        with pytest.raises(KeyError, match="broken"):
            prefetch.take()
    prefetch.join()


def test_no_more_than_asked_for_is_read_ahead() -> None:
    produced = threading.Semaphore(0)
    made = 0
    produce = pictures(100)

    def counting(number: int) -> Picture | None:
        nonlocal made
        made += 1
        produced.release()
        return produce(number)

    prefetch = Prefetch(counting, Reading(3), name="test")
    for _ in range(3):
        assert produced.acquire(timeout=5)
    for taken in range(1, 20):
        prefetch.take()
        assert produced.acquire(timeout=5)  # each picture taken makes room for one
        assert made <= taken + 3
    prefetch.stop()
    prefetch.join()
    assert made <= 3 + 20


def test_stopping_ends_a_thread_that_waits_for_room() -> None:
    prefetch = Prefetch(pictures(100), Reading(2), name="stopped")
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

    prefetch = Prefetch(slowly, Reading(1), name="test")
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
