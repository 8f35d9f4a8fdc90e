"""The end of the service: what runs may finish in time, and no process stays. And the table of tasks."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import JobCancelled, JobError, JobFailed, JobTimeout, WorkerLost
from acuity.jobs.dispatch import QueuedJob
from acuity.jobs.progress import Forwarder
from acuity.jobs.service import JobOutcome, Jobs
from acuity.jobs.tasks import TASKS, load_task
from acuity.jobs.worker.wire import Channel
from acuity.jobs.worker.worker_process import WorkerProcess
from job_helpers import PATIENCE, Changes, Gate, Heard, Running, Watched, config, spec, with_jobs
from longwire.supervised_process import SupervisedProcess
from longwire.work import JobSpec
from waiting import until


async def _begun(work: JobSpec, **changes: Any) -> tuple[Jobs, Running, list[Watched]]:
    """A service, a job that holds, and its processes."""
    jobs = Jobs(config(**changes))
    await jobs.start()
    running = Running(jobs, work)
    return jobs, running, [Watched(pid) for pid in (await running.holding()).details.values()]


async def test_running_work_may_finish_within_the_grace(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    jobs, running, _ = await _begun(spec("hold", until=gate.path), workers=1, data=tmp_path)
    queued = Running(jobs, spec("echo"))
    await queued.heard.until("queued, 0 ahead")
    stopping = asyncio.ensure_future(jobs.stop(PATIENCE))
    error = await queued.outcome()  # what waits is told at once
    assert isinstance(error, JobCancelled)
    assert str(error) == "the server stopped while 'echo it' waited: submit it again"
    with pytest.raises(JobError, match="the server is stopping and takes no more work"):
        await jobs.submit(spec("echo"), client="a")
    gate.open()
    assert isinstance(await running.outcome(), JobOutcome)
    await stopping
    assert jobs.stats().workers == 0
    async with Jobs(config(data=tmp_path)) as after:
        assert [job.status for job in (await after.list())[0]] == ["interrupted", "completed"]


async def test_what_takes_longer_is_interrupted(tmp_path: Path) -> None:
    jobs, running, processes = await _begun(spec("with_child"), data=tmp_path)
    await jobs.stop(0.05)
    error = await running.outcome()
    assert isinstance(error, JobCancelled)
    assert str(error) == "the server stopped while 'with_child it' ran: submit it again"
    for process in processes:
        await process.gone()
    async with Jobs(config(data=tmp_path)) as after:
        assert [job.status for job in (await after.list())[0]] == ["interrupted"]


async def test_stopping_again_does_no_harm_and_the_shorter_grace_counts() -> None:
    jobs, running, _ = await _begun(spec("hold"))
    patient = asyncio.ensure_future(jobs.stop(10 * PATIENCE))
    await asyncio.sleep(0)
    assert not running.call.done()
    await jobs.stop(0.0)
    await asyncio.wait_for(patient, PATIENCE)
    assert isinstance(await running.outcome(), JobCancelled)
    await jobs.stop(1.0)
    assert jobs.stats().workers == 0


async def test_a_stop_that_is_cancelled_still_kills_the_workers() -> None:
    jobs, running, (worker,) = await _begun(spec("hold"))
    stopping = asyncio.ensure_future(jobs.stop(10 * PATIENCE))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    await worker.gone()
    assert isinstance(await running.outcome(), JobCancelled)
    await jobs.stop(0.0)


def test_a_loop_that_ends_without_a_stop_leaves_no_process() -> None:
    _, _, (worker,) = asyncio.run(_begun(spec("hold")))  # which cancels what is still under way
    asyncio.run(worker.gone())


def test_a_loop_that_ends_without_a_stop_starts_no_worker_in_the_place_of_one() -> None:
    async def main() -> asyncio.Task[None]:
        jobs = Jobs(config())

        async def last() -> None:
            try:
                await asyncio.Event().wait()
            finally:  # the loop ends, and goes on as long as this takes
                await until(lambda: not jobs.stats().workers)

        await jobs.start()
        await Running(jobs, spec("hold")).holding()
        ending = asyncio.ensure_future(last())
        await asyncio.sleep(0)
        return ending

    assert asyncio.run(main()).cancelled()  # not timed out


@pytest.mark.parametrize("name", ["nothing", "os:getpid", "acuity.jobs.tasks.score:run", ""])
def test_a_name_is_never_a_place_to_import_from(name: str) -> None:
    with pytest.raises(KeyError):
        load_task(name, TASKS)


WATCHED = (QueuedJob, Forwarder, WorkerProcess, SupervisedProcess, Channel, Heard)


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
        await until(lambda: not live() - expected)
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


@with_jobs(workers=1)
async def test_a_cancelled_call_leaves_nothing(jobs: Jobs) -> None:
    await cancelled(jobs, 1)
    await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))
    for _ in range(10):
        await cancelled(jobs, 5)
    await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))
    assert jobs.stats().cancelled == 62


@with_jobs(workers=1)
async def test_a_call_that_fails_leaves_nothing(jobs: Jobs) -> None:
    kinds: list[type[JobError]] = []
    for task, limit in (("refuse", None), ("crash", None), ("hold", 0.2)):
        try:
            await jobs.run(spec(task, time_limit=limit), client="a", progress=Heard())
        except JobError as error:  # pytest.raises() would keep it
            kinds.append(type(error))
    assert kinds == [JobFailed, WorkerLost, JobTimeout]
    await until_only(Counter(WorkerProcess=1, SupervisedProcess=1, Channel=1))


async def test_the_end_of_the_service_leaves_nothing() -> None:
    async with Jobs(config(workers=2)) as jobs:
        for _ in range(2):
            await Running(jobs, spec("echo")).outcome()
    del jobs
    await until_only(Counter())


@asynccontextmanager
async def _siblings(folder: Path, **changes: int) -> AsyncIterator[tuple[Jobs, Jobs]]:
    """Two job services as two processes of one server have them."""
    shared = config(**{"workers": 1, "data": folder, "turns": folder / "turns", **changes})
    async with Jobs(shared) as one, Jobs(shared) as two:
        yield one, two


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
        assert (await one.get(behind.id)).queue_position == 2
        assert await two.cancel(ahead.id) is not None
        await heard.until("queued, 0 ahead")
        await two.cancel((await two.list(["running"]))[0][0].id)
        assert isinstance(await first.outcome(), JobCancelled)
        done = await asyncio.wait_for(waiting, PATIENCE)
        assert (done.status, done.queue_position) == ("completed", None)
        assert await one.result(behind.id) == await two.result(behind.id)


async def test_progress_and_end_are_seen_from_the_other_process(tmp_path: Path) -> None:
    async with _siblings(tmp_path) as (one, two):
        job = await one.submit(spec("hold"), client="a")
        heard = Heard()
        waiting = asyncio.ensure_future(two.wait(job.id, progress=heard))
        assert (await heard.until("holding")).total == 2.0
        seen = await two.get(job.id)
        assert (seen.status, seen.progress.message) == ("running", "holding")
        assert await two.cancel(job.id) == await waiting == await one.get(job.id)


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
