"""Stopping after a frame, pausing and going on: what feed() does, and what others see meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from acuity.errors import ClosedError, InputError
from acuity.measure import BoundarySnapshot, Measurement
from acuity.measure.feed import feed
from acuity.video.picture import Picture
from moving_pictures import equal, measuring
from steered import model, pictures, unsteered

PATIENCE = 30.0


def endless(given: list[int]) -> Iterator[tuple[Picture, Picture]]:
    while True:
        given.append(len(given))
        yield pictures(given[-1])


def at(frame: int, measurement: Measurement, action: object) -> None:
    """Act between this frame and the next."""
    assert callable(action)

    def listen(snapshot: BoundarySnapshot) -> None:
        if snapshot.last_index == frame:
            action()

    measurement.boundary.on_frame(listen)


@pytest.mark.parametrize("asked_at", [0, 3, 4])
def test_stopping_equals_a_clip_that_ends_there(asked_at: int) -> None:
    given: list[int] = []
    with measuring(model("v0.6.1"), threads=2) as measurement:
        at(asked_at, measurement, lambda: measurement.stop_after(4))
        feed(measurement, endless(given))
        assert measurement.finished
        assert measurement.frames == len(given) == 5  # not one more is asked for
        results = measurement.results()
    assert equal(results, unsteered("v0.6.1", 5))
    assert results.stopped_after == 4
    assert results.steered


def test_nothing_is_taken_after_the_last_frame() -> None:
    with measuring(features=("vif",), threads=1) as measurement:
        measurement.stop_after(1)
        assert measurement.last_frame == 1
        for index in range(2):
            assert not measurement.finished
            measurement.add(*pictures(index))
        assert measurement.finished
        assert measurement.add(*pictures(2)) is None
        assert measurement.frames == 2
        measurement.stop_after(None)
        measurement.add(*pictures(2))
        with pytest.raises(InputError, match="cannot stop after frame 1: name 2 or a later one"):
            measurement.stop_after(1)
        measurement.stop_after(2)
        measurement.flush()
        assert measurement.results().frames == [0, 1, 2]
        with pytest.raises(ClosedError):
            measurement.stop_after(9)


def test_the_running_mean_follows_what_is_steered() -> None:
    told: list[tuple[int, int | None, float | None]] = []
    with measuring(model("v0.6.1"), threads=2) as measurement:
        at(3, measurement, lambda: measurement.set_subsample(3))
        at(7, measurement, lambda: measurement.swap_model("vmaf", model("still"), repredict=True))
        at(7, measurement, lambda: measurement.stop_after(11))
        feed(measurement, endless([]), progress=lambda *state: told.append(state))
        results = measurement.results()
    assert results.frames == [0, 1, 2, 3, 6, 9]
    assert told[-1] == (12, 12, pytest.approx(results.pool()))


@pytest.mark.parametrize("frame", [-1, 2])
def test_a_pause_holds_the_feeding_until_somebody_resumes(frame: int) -> None:
    waiting = threading.Event()
    told: list[str | None] = []

    def tell(reason: str | None) -> None:
        told.append(reason)
        waiting.set()

    with Measurement(2) as measurement:
        measurement.gate.on_wait(tell)
        measurement.add_model(model("v0.6.1"))
        measurement.stop_after(5)
        if frame < 0:
            measurement.pause()
        at(frame, measurement, measurement.pause)
        thread = threading.Thread(target=feed, args=(measurement, endless([])))
        thread.start()
        assert waiting.wait(PATIENCE)
        assert measurement.paused
        assert measurement.frames == frame + 1
        measurement.resume()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert not measurement.paused
        assert told == ["paused by host", None]
        assert equal(measurement.results(), unsteered("v0.6.1", 6))


def test_whoever_steers_waits_in_its_own_way() -> None:
    """The waiter is called again and again, on the feeding thread, and may steer meanwhile."""
    turns: list[int] = []
    with measuring(model("still"), threads=2) as measurement:
        measurement.stop_after(8)
        at(3, measurement, measurement.pause)

        def wait() -> None:
            turns.append(threading.get_ident())
            assert measurement.frames == 4
            if len(turns) == 2:
                measurement.swap_model("vmaf", model("neg"))
            if len(turns) == 3:
                measurement.resume()

        remove = measurement.boundary.on_pause(wait)
        feed(measurement, endless([]))
        assert turns == [threading.get_ident()] * 3
        assert [s.first for s in measurement.segments] == [0, 4]
        remove()
        assert measurement.boundary.waiter is None


class Stalling:
    """Pairs of which some come, and then none for ever."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.asked = 0

    def __iter__(self) -> Iterator[tuple[Picture, Picture]]:
        for index in range(self._left):
            self._left -= 1
            yield pictures(index)
        pytest.fail("it was asked for a pair that isn't there")

    def ready(self, seconds: float) -> bool:
        assert seconds > 0
        self.asked += 1
        assert self.asked < 1000, "it waits for ever"
        return self._left > 0


@pytest.mark.parametrize("count", [1, 4])
def test_stopping_ends_the_wait_for_a_pair_that_does_not_come(count: int) -> None:
    with measuring(model("v0.6.1"), threads=2) as measurement:
        turns: list[int] = []

        def steer() -> None:
            turns.append(measurement.frames)
            if len(turns) == 2:
                measurement.swap_model("vmaf", model("neg"))  # it is a frame boundary as any
            if len(turns) == 3:
                measurement.stop()

        remove = measurement.boundary.on_idle(steer)
        feed(measurement, Stalling(count))
        assert turns == [count] * 3
        assert measurement.over
        results = measurement.results()
        remove()
    assert equal(results, unsteered("v0.6.1", count))
    assert results.stopped_after == count - 1


def test_a_pause_in_the_wait_for_a_pair_holds_it() -> None:
    with measuring(model("still"), threads=2) as measurement:
        source = Stalling(2)
        waits: list[int] = []
        measurement.boundary.on_idle(measurement.pause)

        def wait() -> None:
            waits.append(source.asked)
            if len(waits) == 5:
                measurement.stop()

        measurement.boundary.on_pause(wait)
        feed(measurement, source)
        assert waits == [3] * 5  # the source was let be
        assert measurement.frames == 2
