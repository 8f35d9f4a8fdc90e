"""The end of the service: what runs may finish in time, and no process stays. And the table of tasks."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path

import pytest

from acuity.errors import JobCancelled, JobError
from acuity.jobs.service import JobOutcome, Jobs
from acuity.jobs.tasks import TASKS, WARM, load_task
from job_helpers import PATIENCE, Gate, Running, Watched, config, on_loop, spec


@on_loop
async def test_running_work_may_finish_within_the_grace(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    jobs = Jobs(config(workers=1, data=tmp_path))
    await jobs.start()
    running = Running(jobs, spec("hold", until=gate.path))
    await running.holding()
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


@on_loop
async def test_what_takes_longer_is_interrupted(tmp_path: Path) -> None:
    jobs = Jobs(config(data=tmp_path))
    await jobs.start()
    running = Running(jobs, spec("with_child"))
    processes = [Watched(pid) for pid in (await running.holding()).details.values()]
    await jobs.stop(0.05)
    error = await running.outcome()
    assert isinstance(error, JobCancelled)
    assert str(error) == "the server stopped while 'with_child it' ran: submit it again"
    for process in processes:
        await process.gone()
    async with Jobs(config(data=tmp_path)) as after:
        assert [job.status for job in (await after.list())[0]] == ["interrupted"]


@on_loop
async def test_stopping_again_does_no_harm_and_the_shorter_grace_counts() -> None:
    jobs = Jobs(config())
    await jobs.start()
    running = Running(jobs, spec("hold"))
    await running.holding()
    patient = asyncio.ensure_future(jobs.stop(10 * PATIENCE))
    await asyncio.sleep(0)
    assert not running.call.done()
    await jobs.stop(0.0)
    await asyncio.wait_for(patient, PATIENCE)
    assert isinstance(await running.outcome(), JobCancelled)
    await jobs.stop(1.0)
    assert jobs.stats().workers == 0


@on_loop
async def test_a_stop_that_is_cancelled_still_kills_the_workers() -> None:
    jobs = Jobs(config())
    await jobs.start()
    running = Running(jobs, spec("hold"))
    worker = Watched((await running.holding()).details["pid"])
    stopping = asyncio.ensure_future(jobs.stop(10 * PATIENCE))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    await worker.gone()
    assert isinstance(await running.outcome(), JobCancelled)
    await jobs.stop(0.0)


def test_a_loop_that_ends_without_a_stop_leaves_no_process() -> None:
    async def main() -> tuple[Jobs, Watched]:
        jobs = Jobs(config())
        await jobs.start()
        running = Running(jobs, spec("hold"))
        return jobs, Watched((await running.holding()).details["pid"])

    _, worker = asyncio.run(main())  # which cancels what is still under way
    asyncio.run(worker.gone())


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_table_is_there(name: str) -> None:
    assert callable(load_task(name, TASKS))


@pytest.mark.parametrize("name", ["nothing", "os:getpid", "acuity.jobs.tasks.score:run", ""])
def test_a_name_is_never_a_place_to_import_from(name: str) -> None:
    with pytest.raises(KeyError):
        load_task(name, TASKS)


@pytest.mark.parametrize("name", WARM)
def test_what_workers_import_first_is_there(name: str) -> None:
    assert importlib.import_module(name)
