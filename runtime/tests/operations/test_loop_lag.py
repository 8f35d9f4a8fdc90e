"""The delay of the event loop: a figure, and a reason for a probe to say no."""

from __future__ import annotations

import asyncio

from fake_responder import FakeClock
from longwire.operations.metrics import TOO_LATE, LoopLag, Metrics
from longwire.server.main import Readiness


def test_the_longest_delay_of_the_last_seconds_counts() -> None:
    clock = FakeClock()
    lag = LoopLag(clock)
    assert lag.seconds == 0.0
    for pause in (0.25, 0.75, 0.25):
        lag.look()
        clock.now += pause
    assert lag.seconds == 0.5
    for _ in range(41):
        lag.look()
        clock.now += 0.25
    assert lag.seconds == 0.0


def test_a_loop_that_is_late_is_a_problem_also_while_it_lasts() -> None:
    clock = FakeClock()
    lag = LoopLag(clock)
    lag.look()
    clock.now += 0.25 + TOO_LATE
    assert lag.problem() is None
    clock.now += 1.0
    assert lag.problem() == "its event loop was 3.0 s late within the last 10 s"
    lag.look()
    assert lag.problem() is not None  # it is remembered


def test_a_server_whose_loop_is_late_is_not_ready() -> None:
    clock = FakeClock()
    lag = LoopLag(clock)
    lag.look()
    ready = Readiness(None, lag)
    assert ready.problem() == "the server is starting"
    ready.opened()
    assert ready.problem() is None
    clock.now += 60.0
    assert "event loop was 59.8 s late" in (ready.problem() or "")


async def test_it_is_a_metric_while_it_is_watched() -> None:
    metrics, clock = Metrics(()), FakeClock()
    metrics.loop_lag = LoopLag(clock)
    async with metrics.loop_lag.watched():
        await asyncio.sleep(0)
        clock.now += 5.25
        assert metrics.registry.get_sample_value("longwire_mcp_loop_lag_seconds") == 5.0
    assert metrics.registry.get_sample_value("longwire_mcp_loop_lag_seconds") == 0.0
