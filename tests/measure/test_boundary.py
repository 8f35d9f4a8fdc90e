"""The frame boundary: who is told what, when, and on which thread."""

from __future__ import annotations

import threading

import pytest

from acuity.measure import BoundarySnapshot, FrameBoundary
from moving_pictures import measuring, pair


def test_listeners_are_told_between_frames_on_the_feeding_thread() -> None:
    seen: list[BoundarySnapshot] = []
    threads: set[int] = set()
    with measuring(features=("vif",), threads=2) as measurement:
        measurement.boundary.on_frame(
            lambda snapshot: (seen.append(snapshot), threads.add(threading.get_ident()))
        )
        for index in range(5):
            measurement.add(*pair(index))
            assert len(seen) == index + 1
    assert threads == {threading.get_ident()}
    assert [s.frames_fed for s in seen] == [1, 2, 3, 4, 5]
    assert [s.last_index for s in seen] == [0, 1, 2, 3, 4]
    assert all(0 <= s.frames_done <= s.frames_fed for s in seen)


def test_listeners_can_leave_even_while_being_told() -> None:
    boundary = FrameBoundary()
    calls: list[str] = []

    def once(snapshot: BoundarySnapshot) -> None:
        calls.append("once")
        leave()

    leave = boundary.on_frame(once)
    boundary.on_frame(lambda _: calls.append("always"))
    boundary.on_frame.tell(BoundarySnapshot(1, 0, 0))
    boundary.on_frame.tell(BoundarySnapshot(2, 1, 1))
    assert calls == ["once", "always", "always"]


def test_a_listener_can_stop_the_feeding_and_read_scores() -> None:
    class Enough(Exception):
        pass

    def stop(snapshot: BoundarySnapshot) -> None:
        if snapshot.frames_fed == 3:
            raise Enough

    with measuring(features=("vif",), threads=2) as measurement:
        measurement.boundary.on_frame(stop)
        with pytest.raises(Enough):
            for index in range(10):
                measurement.add(*pair(index))
        assert measurement.frames == 3
        measurement.flush()
        assert measurement.results().frames == [0, 1, 2]
