"""How far scoring is, for people and for programs."""

from __future__ import annotations

import pytest

from acuity.jobs.progress import Pace


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_everything_known(clock: Clock) -> None:
    pace = Pace(clock)
    clock.time += 1.425
    told = pace.progress(120, 480, 93.4123)
    assert (told.done, told.total) == (120, 480)
    assert told.message == "120 of 480 frames, 84.2 fps, 4 s left, mean 93.41"
    assert told.details == {"fps": 84.2, "eta_seconds": 4.3, "mean": 93.4123}


def test_at_the_start_little_is_known(clock: Clock) -> None:
    told = Pace(clock).progress(0, 480, None)
    assert told.message == "0 of 480 frames"
    assert told.details == {"fps": None, "eta_seconds": None, "mean": None}


def test_no_total_or_a_wrong_one(clock: Clock) -> None:
    pace = Pace(clock)
    clock.time += 10
    assert pace.progress(50, None, 90.0).message == "50 frames, 5.0 fps, mean 90.00"
    told = pace.progress(50, 40, 90.0)  # the container claimed fewer
    assert told.total is None
    assert told.message == "50 frames, 5.0 fps, mean 90.00"


@pytest.mark.parametrize(
    ("seconds", "done", "total", "expected"),
    [(1, 10, 20, "1 s left"), (1, 1, 100, "1 min 39 s left"), (100, 1, 101, "2 h 46 min left")],
)
def test_times_left(clock: Clock, seconds: float, done: int, total: int, expected: str) -> None:
    pace = Pace(clock)
    clock.time += seconds
    assert pace.progress(done, total, None).message.endswith(f", {expected}")
