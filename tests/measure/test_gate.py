"""Pauses and their owners, leases and stops: what add() does about them. The test turns the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from acuity.errors import ClosedError, InputError, NoFramesError
from acuity.measure import Measurement
from acuity.measure.gate import Pause, describe_pauses
from moving_pictures import equal, measuring
from steered import model, pictures, unsteered

PATIENCE = 30.0


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.time = 100.0
        self.waits = 0
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self) -> float:
        return self.time

    def wait(self) -> None:
        """As the feeding thread waits: a second."""
        self.waits += 1
        assert self.waits < 1000, "it waits for ever"
        self.time += 1.0
        self.meanwhile()


@contextmanager
def clocked() -> Iterator[tuple[Measurement, Clock]]:
    clock = Clock()
    with measuring(model("v0.6.1"), threads=2) as measurement:
        measurement.gate.clock = clock
        measurement.boundary.on_pause(clock.wait)
        yield measurement, clock


def lease(seconds: float, clock: Clock, by: str = "inspector") -> Pause:
    return Pause(by, "uds", clock() + seconds)


# ---- pauses -----------------------------------------------------------------------------------


def test_add_waits_until_the_lease_runs_out() -> None:
    with clocked() as (measurement, clock):
        measurement.add(*pictures(0))
        measurement.gate.hold("one", lease(300, clock))
        assert measurement.paused
        clock.meanwhile = lambda: measurement.frames == 1 or pytest.fail("a frame was fed")
        assert measurement.add(*pictures(1)) == 1
        assert clock.waits == 300
        assert not measurement.paused
        assert measurement.add(*pictures(2)) == 2
        assert clock.waits == 300


def test_frames_go_on_when_no_pause_is_left() -> None:
    with clocked() as (measurement, clock):
        measurement.gate.hold("one", lease(10, clock))
        measurement.gate.hold("two", lease(20, clock, "other"))

        def leave() -> None:
            if clock.waits == 5:
                measurement.gate.release("one")
                assert [pause.by for pause in measurement.gate.pauses] == ["other"]

        clock.meanwhile = leave
        measurement.add(*pictures(0))
        assert clock.waits == 20


def test_the_hosts_pause_and_the_clients_are_separate() -> None:
    with clocked() as (measurement, clock):
        measurement.pause()
        measurement.gate.hold("one", lease(10, clock))
        assert [pause.by for pause in measurement.gate.release_clients()] == ["inspector"]
        assert [pause.by for pause in measurement.gate.pauses] == ["host"]
        measurement.gate.hold("one", lease(10, clock))
        measurement.resume()
        assert [pause.by for pause in measurement.gate.pauses] == ["inspector"]
        measurement.pause()
        measurement.resume(everyone=True)
        assert not measurement.paused


def test_a_shared_pause_is_the_hosts_and_clients_may_end_it() -> None:
    with clocked() as (measurement, clock):
        measurement.pause(shared=True)
        clock.meanwhile = measurement.gate.release_clients
        measurement.add(*pictures(0))
        assert clock.waits == 1


def test_add_does_not_wait_for_its_own_threads_pause() -> None:
    """Nobody could end it: this thread would."""
    with clocked() as (measurement, clock):
        measurement.pause()
        assert measurement.add(*pictures(0)) == 0
        assert clock.waits == 0
        measurement.gate.hold("one", lease(3, clock))  # a client's it waits for all the same
        assert measurement.add(*pictures(1)) == 1
        assert clock.waits == 3


def test_add_waits_for_another_threads_pause() -> None:
    with measuring(model("still"), threads=2) as measurement:
        waiting = threading.Event()
        measurement.gate.on_wait(lambda _: waiting.set())
        measurement.pause()
        feeding = threading.Thread(target=measurement.add, args=pictures(0))
        feeding.start()
        assert waiting.wait(PATIENCE)
        assert measurement.frames == 0
        measurement.resume()
        feeding.join(PATIENCE)
        assert measurement.frames == 1


def test_closing_ends_a_pause_that_add_waits_for() -> None:
    with clocked() as (measurement, clock):
        measurement.gate.hold("one", lease(300, clock))
        clock.meanwhile = measurement.close
        with pytest.raises(ClosedError):
            measurement.add(*pictures(0))


def test_whoever_watches_is_told_why_and_for_how_long() -> None:
    with clocked() as (measurement, clock):
        told: list[str | None] = []
        measurement.gate.on_wait(told.append)
        measurement.gate.hold("one", lease(2, clock))
        measurement.add(*pictures(0))
        assert told == ["paused by inspector (uds), 0:02 left", "paused by inspector (uds), 0:01 left", None]


def test_what_is_said_of_several() -> None:
    first, second = Pause("a", "sse", 160.0), Pause("b", "uds", 400.0)
    assert describe_pauses([first, second], 100.0) == "paused by a (sse), b (uds), 5:00 left"
    assert describe_pauses([first, Pause("host")], 100.0) == "paused by a (sse), host"


# ---- stopping ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stop", "stop_after"])
def test_a_loop_of_add_learns_of_a_stop_by_a_value(how: str) -> None:
    """The loop of the README: nothing is raised, and what was fed is the result."""
    with clocked() as (measurement, _):
        at = {"stop": measurement.stop, "stop_after": lambda: measurement.stop_after(4)}[how]
        measurement.boundary.on_frame(lambda now: at() if now.last_index == 4 else None)
        taken = [measurement.add(*pictures(index)) for index in range(8)]
        assert taken == [0, 1, 2, 3, 4, None, None, None]
        assert measurement.finished
        assert measurement.last_frame == 4
        measurement.flush()
        results = measurement.results()
        with pytest.raises(ClosedError):  # the host's own flush is another thing
            measurement.add(*pictures(8))
    assert equal(results, unsteered("v0.6.1", 5))
    assert results.stopped_after == 4


def test_a_stop_ends_a_pause_and_is_final() -> None:
    with clocked() as (measurement, clock):
        measurement.add(*pictures(0))
        measurement.gate.hold("one", lease(300, clock))
        clock.meanwhile = measurement.stop
        assert measurement.add(*pictures(1)) is None
        assert clock.waits == 1
        with pytest.raises(InputError, match="was stopped already"):
            measurement.stop_after(None)
        measurement.flush()
        assert measurement.results().frames == [0]


def test_a_stop_before_the_first_frame_leaves_nothing() -> None:
    with clocked() as (measurement, _):
        measurement.stop()
        assert measurement.add(*pictures(0)) is None
        measurement.flush()
        with pytest.raises(NoFramesError, match="stopped before its first frame"):
            measurement.results()
        with pytest.raises(ClosedError):
            measurement.stop()
