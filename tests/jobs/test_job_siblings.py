"""Jobs of several processes of one server: their turns, and all about them from each process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acuity.errors import JobCancelled, QueueFull
from acuity.jobs.job import Job
from acuity.jobs.service import Jobs
from job_helpers import PATIENCE, Gate, Heard, Running, config, on_loop, spec


@asynccontextmanager
async def _siblings(folder: Path, **changes: int) -> AsyncIterator[tuple[Jobs, Jobs]]:
    """Two job services as two processes of one server have them."""
    shared = config(**{"workers": 1, "data": folder, "turns": folder / "turns", **changes})
    async with Jobs(shared) as one, Jobs(shared) as two:
        yield one, two


class Changes:
    """A listener to changes of jobs that can be waited for."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []
        self._more = asyncio.Event()

    def __call__(self, job: Job) -> None:
        self.all.append((job.id, job.status))
        self._more.set()

    async def until(self, id: str, status: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while (id, status) not in self.all:
                self._more.clear()
                await self._more.wait()


@on_loop
async def test_the_number_of_jobs_at_once_counts_for_all(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    async with _siblings(tmp_path, queue=1) as (one, two):
        first = Running(one, spec("hold", until=gate.path))
        await first.holding()
        heard = Heard()
        second = asyncio.ensure_future(two.run(spec("echo"), client="b", progress=heard))
        await heard.until("queued, 0 ahead")
        with pytest.raises(QueueFull):
            await one.submit(spec("echo"), client="c")
        gate.open()
        assert (await asyncio.wait_for(second, PATIENCE)).document["echo"] == {}
        await first.outcome()


@on_loop
async def test_a_waiting_job_tells_its_place_to_all(tmp_path: Path) -> None:
    async with _siblings(tmp_path) as (one, two):
        first = Running(one, spec("hold"))
        await first.holding()
        ahead = await one.submit(spec("echo"), client="b")
        behind = await two.submit(spec("echo"), client="c")
        assert behind.queue_position == 2
        heard = Heard()
        waiting = asyncio.ensure_future(one.wait(behind.id, progress=heard))
        await heard.until("queued, 1 ahead")
        seen = await one.get(behind.id)
        assert seen is not None
        assert seen.queue_position == 2
        assert await two.cancel(ahead.id) is not None
        await heard.until("queued, 0 ahead")
        await two.cancel((await two.list(["running"]))[0][0].id)
        assert isinstance(await first.outcome(), JobCancelled)
        done = await asyncio.wait_for(waiting, PATIENCE)
        assert (done.status, done.queue_position) == ("completed", None)
        assert await one.result(behind.id) == await two.result(behind.id)


@on_loop
async def test_progress_and_end_are_seen_from_the_other_process(tmp_path: Path) -> None:
    async with _siblings(tmp_path) as (one, two):
        job = await one.submit(spec("hold"), client="a")
        heard = Heard()
        waiting = asyncio.ensure_future(two.wait(job.id, progress=heard))
        assert (await heard.until("holding")).total == 2.0
        seen = await two.get(job.id)
        assert seen is not None
        assert seen.progress is not None
        assert (seen.status, seen.progress.message) == ("running", "holding")
        assert await two.cancel(job.id) == await waiting == await one.get(job.id)


@on_loop
async def test_listeners_hear_of_jobs_of_other_processes(tmp_path: Path) -> None:
    async with _siblings(tmp_path) as (one, two):
        everywhere, here = Changes(), Changes()
        forget = two.on_change(everywhere, everywhere=True)
        two.on_change(here)
        job = await one.submit(spec("hold"), client="a")
        await everywhere.until(job.id, "running")
        await one.cancel(job.id)
        await everywhere.until(job.id, "cancelled")
        assert len(everywhere.all) == len(set(everywhere.all))  # each change once
        own = await two.submit(spec("echo"), client="a")
        await everywhere.until(own.id, "completed")
        assert {id for id, _ in here.all} == {own.id}
        forget()


@on_loop
async def test_a_listener_that_comes_late_hears_the_end(tmp_path: Path) -> None:
    async with _siblings(tmp_path) as (one, two):
        job = await one.submit(spec("hold"), client="a")
        changes = Changes()
        two.on_change(changes, everywhere=True)
        await one.cancel(job.id)
        await changes.until(job.id, "cancelled")
