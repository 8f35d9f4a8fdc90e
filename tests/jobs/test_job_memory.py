"""What is left of jobs that are over: nothing, and nothing that only a garbage collection would remove."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator

import pytest

from acuity.errors import JobError, JobFailed, JobTimeout, WorkerLost
from acuity.jobs.dispatch import Entry
from acuity.jobs.progress import Forwarder
from acuity.jobs.service import Jobs
from acuity.jobs.worker.wire import Channel
from acuity.jobs.worker.worker_process import WorkerProcess
from acuity.supervised_process import SupervisedProcess
from job_helpers import PATIENCE, Heard, Running, config, on_loop, spec

WATCHED = (Entry, Forwarder, WorkerProcess, SupervisedProcess, Channel, Heard)


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def live() -> Counter[str]:
    """How many of each class there are, garbage that waits for its collection included."""
    return Counter(type(found).__name__ for found in gc.get_objects() if type(found) in WATCHED)


async def until_only(expected: Counter[str]) -> None:
    """Until these are all: processes are reaped and results written after the answer."""
    try:
        async with asyncio.timeout(PATIENCE):
            while live() - expected:
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"left over: {live() - expected}")


async def cancelled(jobs: Jobs, waiting: int) -> None:
    """A running job and some behind it, all of them given up by whoever waited."""
    running = Running(jobs, spec("hold"))
    await running.holding()
    queued = [Running(jobs, spec("hold")) for _ in range(waiting)]
    for place, job in enumerate(queued):
        await job.heard.until(f"queued, {place} ahead")
    for job in (*queued, running):
        job.call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job.call


@on_loop
async def test_a_cancelled_call_leaves_nothing() -> None:
    async with Jobs(config(workers=1)) as jobs:
        await cancelled(jobs, 1)
        await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))
        for _ in range(10):
            await cancelled(jobs, 5)
        await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))
        assert jobs.stats().cancelled == 62


@on_loop
async def test_a_call_that_fails_leaves_nothing() -> None:
    async with Jobs(config(workers=1)) as jobs:
        kinds: list[type[JobError]] = []
        for task, limit in (("refuse", None), ("crash", None), ("hold", 0.2)):
            try:
                await jobs.run(spec(task, time_limit=limit), client="a", progress=Heard())
            except JobError as error:  # pytest.raises() would keep it
                kinds.append(type(error))
        assert kinds == [JobFailed, WorkerLost, JobTimeout]
        await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))


@on_loop
async def test_the_end_of_the_service_leaves_nothing() -> None:
    async with Jobs(config(workers=2)) as jobs:
        for _ in range(2):
            await Running(jobs, spec("echo")).outcome()
    del jobs
    await until_only(Counter())
