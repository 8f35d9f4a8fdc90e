"""Sets of tasks that end together, on a loop whose clock leaps to the next timer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from longwire.wire.tasks import RunningTasks
from waiting import LeapingLoop


def _seconds_to_end(cleans_up: float, *, swallows: int = 0) -> tuple[float, list[str]]:
    """How long the end of a task takes, and what became of it."""
    said: list[str] = []

    async def work() -> None:
        for _ in range(swallows):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        try:
            await asyncio.sleep(3600)
        finally:
            try:
                await asyncio.sleep(cleans_up)
                said.append("cleaned up")
            except asyncio.CancelledError:
                said.append("interrupted")

    async def run() -> float:
        tasks, loop = RunningTasks(), asyncio.get_running_loop()
        tasks.spawn(work())
        await asyncio.sleep(0)
        began = loop.time()
        await tasks.end()
        return loop.time() - began

    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        return round(runner.run(run()), 3), said


def test_a_task_is_left_to_clean_up_and_cancelled_again_if_it_goes_on() -> None:
    assert _seconds_to_end(4.0) == (4.0, ["cleaned up"])
    assert _seconds_to_end(1.0, swallows=2) == (11.0, ["cleaned up"])
    assert _seconds_to_end(3600.0) == (5.0, ["interrupted"])
