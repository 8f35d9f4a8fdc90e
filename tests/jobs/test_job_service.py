"""The job service: work done elsewhere, answers that come back, jobs that are remembered."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from acuity.errors import JobError, JobFailed, QueueFull
from acuity.jobs.service import Job, JobOutcome, Jobs
from job_helpers import PATIENCE, Gate, Running, config, spec, with_jobs

pytestmark = pytest.mark.usefixtures("prepared_workers")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


async def test_work_is_done_in_another_process(jobs: Jobs) -> None:
    outcome = await jobs.run(spec("echo", word="hi"), client="a")
    assert outcome.document["echo"] == {"word": "hi"}
    assert outcome.document["pid"] != os.getpid()
    assert len(outcome.id) == 32


async def test_every_job_is_remembered(jobs: Jobs) -> None:
    outcome = await jobs.run(spec("echo", word="hi"), client="a")
    with pytest.raises(JobFailed):
        await jobs.run(spec("refuse"), client="b")
    (failed, done), truncated = await jobs.list()
    assert not truncated
    assert (done.id, done.tool, done.title, done.client, done.status) == (
        outcome.id, "echo_tool", "echo it", "a", "completed",
    )  # fmt: skip
    assert done.created <= (done.started or 0) <= (done.finished or 0)
    assert (failed.client, failed.status) == ("b", "failed")
    assert failed.error == "'clip.yuv' is no video: name another file"
    assert await jobs.get(done.id) == done
    assert await jobs.result(done.id) == outcome.document
    assert await jobs.result(failed.id) is None
    assert await jobs.get("0" * 32) is None
    assert await jobs.result("0" * 32) is None


async def test_the_list_can_be_narrowed_and_cut(jobs: Jobs) -> None:
    for _ in range(3):
        await jobs.run(spec("echo"), client="a")
    with pytest.raises(JobFailed):
        await jobs.run(spec("refuse"), client="a")
    assert [job.status for job in (await jobs.list())[0]] == ["failed", *["completed"] * 3]
    assert len((await jobs.list(["completed"], limit=3))[0]) == 3
    assert (await jobs.list(["completed"], limit=3))[1] is False
    cut, truncated = await jobs.list(["completed"], limit=2)
    assert len(cut) == 2
    assert truncated
    assert await jobs.list(["queued", "running"]) == ([], False)


async def test_a_submitted_job_goes_on_by_itself(jobs: Jobs, gate: Gate) -> None:
    job = await jobs.submit(spec("hold", until=gate.path), client="a")
    assert not job.over
    gate.open()
    over = await asyncio.wait_for(jobs.wait(job.id), PATIENCE)
    assert over.status == "completed"
    assert set(await jobs.result(job.id)) == {"pid"}
    assert await jobs.wait(job.id) == over  # also when it has long been over


async def test_waiting_for_nothing_is_refused(jobs: Jobs) -> None:
    with pytest.raises(JobError, match="there is no job 'none'"):
        await jobs.wait("none")


async def test_changes_are_told(jobs: Jobs) -> None:
    seen: list[Job] = []

    def broken(_: Job) -> None:
        raise ValueError("a listener's own trouble")

    jobs.on_change(broken)
    forget = jobs.on_change(seen.append)
    outcome = await jobs.run(spec("echo"), client="a")
    assert [job.status for job in seen] == ["queued", "running", "completed"]
    assert {job.id for job in seen} == {outcome.id}
    forget()
    forget()
    await jobs.run(spec("echo"), client="a")
    assert len(seen) == 3


@with_jobs(workers=2, queue=1)
async def test_no_more_run_than_may_and_no_more_wait_than_may(jobs: Jobs, gate: Gate) -> None:
    first, second = (Running(jobs, spec("hold", until=gate.path)) for _ in range(2))
    await first.holding()
    await second.holding()
    waiting = await jobs.submit(spec("echo"), client="a")
    assert (waiting.status, waiting.queue_position) == ("queued", 1)
    with pytest.raises(QueueFull, match=r"the queue is full \(1 waiting\)"):
        await jobs.run(spec("echo"), client="b")
    stats = jobs.stats()
    assert (stats.running, stats.queued, stats.workers) == (2, 1, 2)
    gate.open()
    assert (await jobs.wait(waiting.id)).status == "completed"
    for call in (first, second):
        assert isinstance(await call.outcome(), JobOutcome)
    assert (await jobs.list())[0][0].id == waiting.id  # what was refused is no job


@with_jobs(workers=1)
async def test_the_place_in_the_queue_is_told_as_it_changes(jobs: Jobs) -> None:
    first = Running(jobs, spec("hold"))
    await first.holding()
    ahead = [await jobs.submit(spec("hold"), client="a") for _ in range(2)]
    last = Running(jobs, spec("echo"))
    told = await last.heard.until("queued, 2 ahead")
    assert (told.done, told.total, told.details) == (0.0, None, {"queue_position": 3})
    await jobs.cancel(ahead[0].id)  # one leaves
    await last.heard.until("queued, 1 ahead")
    first.call.cancel()  # one is done, so the next begins
    await last.heard.until("queued, 0 ahead")
    await jobs.cancel(ahead[1].id)
    assert isinstance(await last.outcome(), JobOutcome)
    assert last.heard.messages == [f"queued, {n} ahead" for n in (2, 1, 0)]


@with_jobs(workers=1)
async def test_a_queued_job_can_be_cancelled_and_never_runs(jobs: Jobs) -> None:
    first = Running(jobs, spec("hold"))
    await first.holding()
    changes: list[str] = []
    queued = await jobs.submit(spec("echo"), client="a")
    jobs.on_change(lambda job: changes.append(job.status) if job.id == queued.id else None)
    job = await jobs.cancel(queued.id)
    assert (job.status, job.error) == ("cancelled", "'echo it' was cancelled")
    assert changes == ["cancelled"]
    assert jobs.stats().queued == 0
    assert await jobs.cancel("0" * 32) is None


async def test_a_task_that_is_not_in_the_table_is_refused(jobs: Jobs) -> None:
    for name in ("os:getpid", "job_tasks:echo", "nothing"):
        with pytest.raises(JobError, match=f"there is no task '{name}'"):
            await jobs.run(spec(name), client="a")


async def test_what_no_frame_can_hold_is_refused(jobs: Jobs) -> None:
    for payload in ({"a": object()}, {"a": float("nan")}, {"a": "x" * (17 << 20)}):
        with pytest.raises(JobError, match="'echo it' can't be sent to a worker"):
            await jobs.run(spec("echo", **payload), client="a")
    assert (await jobs.run(spec("echo"), client="a")).document


async def test_large_results_come_through(jobs: Jobs) -> None:
    outcome = await jobs.run(spec("large", frames=60_000), client="a")
    assert len(await jobs.result_text(outcome.id)) > 2 << 20
    assert outcome.document["frames"][-1]["frame"] == 59_999
    assert await jobs.result(outcome.id) == outcome.document


async def test_results_hold_only_what_json_can(jobs: Jobs) -> None:
    outcome = await jobs.run(spec("odd"), client="a")
    assert outcome.document == {"nan": None, "inf": None, "array": 0.5, "name": "a?b"}


async def test_titles_and_clients_cannot_break_the_memory(jobs: Jobs) -> None:
    work = spec("echo")
    job = await jobs.submit(type(work)(work.task, {}, "t", "a\udcff\x1b[0m\n"), client="c\udcff")
    over = await jobs.wait(job.id)
    assert (over.title, over.client) == ("a\\udcff\\x1b[0m\\n", "c\\udcff")


async def test_figures_for_operators(jobs: Jobs) -> None:
    await jobs.run(spec("echo"), client="a")
    with pytest.raises(JobFailed):
        await jobs.run(spec("refuse"), client="a")
    running = Running(jobs, spec("hold"))
    await running.holding()
    (job,) = (await jobs.list(["running"]))[0]
    running.call.cancel()
    assert (await jobs.wait(job.id)).status == "cancelled"
    stats = jobs.stats()
    assert (stats.submitted, stats.completed, stats.failed, stats.cancelled) == (3, 1, 1, 1)
    assert (stats.running, stats.queued, stats.workers_lost) == (0, 0, 0)


@with_jobs(workers=1, short_limit=0.2)
async def test_work_that_was_not_short_gives_its_place_up_and_begins_again(jobs: Jobs) -> None:
    long = Running(jobs, spec("hold"), "a")
    await long.holding()
    other = Running(jobs, replace(spec("hold"), short=True), "b")
    await other.heard.until("queued, 0 ahead")  # it had the place for short work before
    listed, _ = await jobs.list(["queued"])
    assert [(job.client, job.started) for job in listed] == [("b", None)]
    other.heard.all.clear()
    long.call.cancel()
    await other.holding()
    listed, _ = await jobs.list(["running"])
    assert [job.client for job in listed if job.progress] == ["b"]


async def test_the_memory_of_all_workers_is_within_the_limit() -> None:
    most = 3 << 30
    async with Jobs(config(workers=2, memory=most)) as jobs:
        calls = [
            Running(jobs, replace(spec("limits"), short=number == 2), f"c{number}") for number in range(3)
        ]
        told = [(await call.heard.until("holding")).details for call in calls]
        assert len({found["pid"] for found in told}) == 3  # all that may run at once
        assert sum(found["data"] for found in told) <= most
        assert all(0 < found["tiny"] < found["data"] for found in told)
