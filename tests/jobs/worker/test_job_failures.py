"""Work that fails, crashes, hangs or eats the memory costs its own job, and nobody else anything."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from acuity.errors import JobError, JobFailed, JobTimeout, WorkerLost
from acuity.jobs.service import JobOutcome, Jobs
from acuity.jobs.worker.wire import Kind
from job_helpers import PATIENCE, Running, Watched, config, spec, with_jobs


async def _error(jobs: Jobs, task: str, **payload: Any) -> JobError:
    with pytest.raises(JobError) as caught:
        await jobs.run(spec(task, **payload), client="a")
    (job, *_), _ = await jobs.list(limit=1)
    assert (job.status, job.error) == ("failed", str(caught.value))
    assert "\n" not in str(caught.value)
    assert (await jobs.run(spec("echo"), client="a")).document  # and the next one runs
    return caught.value


@with_jobs(workers=1)
async def test_a_refusal_keeps_its_sentence_and_the_worker(jobs: Jobs) -> None:
    error = await _error(jobs, "refuse")
    assert type(error) is JobFailed
    assert str(error) == "'clip.yuv' is no video: name another file"
    assert jobs.stats().workers_started == 1


@pytest.mark.parametrize(("how", "name"), [("exit", "SystemExit"), ("key", "KeyError")])
async def test_a_blunder_is_told_without_a_traceback(
    jobs: Jobs, how: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = await _error(jobs, "blunder", how=how)
    assert type(error) is JobFailed
    assert f"failed in a way it should not ({name}" in str(error)
    assert "Traceback" in caplog.text


@with_jobs(workers=1)
async def test_a_segmentation_fault_is_named_with_the_last_words(jobs: Jobs) -> None:
    error = await _error(jobs, "crash", words="unlikely stride 7\n")
    assert type(error) is WorkerLost
    assert "crashed (SIGSEGV), saying 'unlikely stride 7'" in str(error)
    assert jobs.stats().workers_lost == 1


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"status": 3}, "ended by itself (exit status 3)"),
        ({"signal": "SIGKILL"}, "was killed (SIGKILL), as systems do when memory runs out"),
        ({"signal": "SIGABRT"}, "crashed (SIGABRT)"),
        ({"signal": "SIGTERM"}, "crashed (SIGTERM)"),
    ],
)
async def test_the_way_a_worker_ended_is_named(jobs: Jobs, payload: dict[str, Any], words: str) -> None:
    error = await _error(jobs, "end", **payload)
    assert type(error) is WorkerLost
    assert words in str(error)


@with_jobs(workers=1, memory=1 << 30)
async def test_memory_beyond_the_limit_is_refused_and_the_worker_replaced(jobs: Jobs) -> None:
    assert (await jobs.run(spec("hog", bytes=1 << 20), client="a")).document == {"held": 1 << 20}
    error = await _error(jobs, "hog", bytes=1 << 30)
    assert type(error) is WorkerLost
    assert "needs more memory than the 512 MB a worker may have" in str(error)
    assert jobs.stats().workers_started == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 200 OK", "bytes that begin no message (72)"),
        (bytes([Kind.PROGRESS]) + b"\xff\xff\xff\xff", "a PROGRESS message of 4294967295 bytes, more than 6"),
        (bytes([Kind.RESULT]) + b"\xff\xff\xff\xff", "a RESULT message of 4294967295 bytes, more than 268"),
        (bytes([Kind.RESULT]) + b"\0\0\0\2[]", "a RESULT message that holds no object"),
        (bytes([Kind.PROGRESS]) + b"\0\0\0\2{}", "a PROGRESS message that says nothing"),
        (bytes([Kind.PROGRESS]) + b"\0\0\0\1{", "a PROGRESS message that isn't JSON"),
        (bytes([Kind.FAILURE]) + b"\0\0\0\2{}", "a FAILURE message that says nothing"),
        (bytes([Kind.RESULT]) + b"\0\0\0\1\xff", "a RESULT message that isn't UTF-8"),
        (bytes([Kind.STARTED]) + b"\0\0\0\2{}", "a STARTED message out of turn"),
        (bytes([Kind.JOB]) + b"\0\0\0\2{}", "a JOB message out of turn"),
    ],
)  # fmt: skip
@with_jobs(workers=1)
async def test_garbage_on_the_channel_costs_the_worker_only(jobs: Jobs, data: bytes, words: str) -> None:
    error = await _error(jobs, "garbage", bytes=data.hex())
    assert type(error) is WorkerLost
    assert f"sent {words}" in str(error)
    assert jobs.stats().workers_started == 2


async def test_a_result_that_is_no_document_is_an_error(jobs: Jobs) -> None:
    assert "failed in a way it should not" in str(await _error(jobs, "no_document"))


@with_jobs(workers=1, time_limit=0.2)
async def test_a_call_that_takes_too_long_is_stopped(jobs: Jobs) -> None:
    echo = await jobs.run(spec("echo", time_limit=PATIENCE), client="a")
    worker = Watched(echo.document["pid"])
    with pytest.raises(JobTimeout) as caught:
        await jobs.run(spec("hold"), client="a")
    assert str(caught.value) == (
        "'hold it' took longer than 0.2 seconds and was stopped; "
        "raise VMAF_MCP_SUBPROCESS_TIMEOUT_S or submit it as a job"
    )
    await worker.gone()
    assert jobs.stats().timeouts == 1
    assert (await jobs.run(spec("echo", time_limit=PATIENCE), client="a")).document


async def test_a_spec_may_have_a_limit_of_its_own(jobs: Jobs) -> None:
    job = await jobs.submit(spec("hold", time_limit=0.1), client="a")
    over = await jobs.wait(job.id)
    told = "'hold it' took longer than 0.1 seconds and was stopped; split it into shorter pieces"
    assert (over.status, over.error) == ("failed", told)


@with_jobs(workers=1)
async def test_time_in_the_queue_does_not_count(jobs: Jobs) -> None:
    blocking = await jobs.submit(spec("hold", time_limit=0.4), client="a")
    queued = await jobs.submit(spec("hold", time_limit=0.1), client="a")
    assert (await jobs.wait(blocking.id)).error is not None
    assert not (await jobs.get(queued.id)).over
    over = await jobs.wait(queued.id)
    assert (over.started or 0) - over.created > 0.3
    assert (over.finished or 0) - (over.started or 0) > 0.09


@with_jobs(workers=1)
async def test_cancelling_a_call_ends_its_processes_children_too(jobs: Jobs) -> None:
    running = Running(jobs, spec("with_child"))
    details = (await running.holding()).details
    worker, child = Watched(details["pid"]), Watched(details["child"])
    (job,) = (await jobs.list(["running"]))[0]
    running.call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.call
    await worker.gone()
    await child.gone()
    assert (await jobs.wait(job.id)).status == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)  # reaped, too
    assert jobs.stats().workers_lost == 0
    assert (await jobs.run(spec("echo"), client="a")).document["pid"] != worker.pid


@with_jobs(workers=1)
async def test_idle_workers_may_be_killed_without_anybody_noticing(jobs: Jobs) -> None:
    for _ in range(3):
        pid = (await jobs.run(spec("echo"), client="a")).document["pid"]
        os.kill(pid, signal.SIGKILL)  # the next job may be given to it before its end is known
    assert (await jobs.run(spec("echo"), client="a")).document["pid"] != pid
    assert jobs.stats().failed == 0
    assert jobs.stats().workers_lost == 3


@with_jobs(workers=2, queue=100)
async def test_workers_killed_under_load_cost_their_own_jobs_only(jobs: Jobs) -> None:
    quick = [Running(jobs, spec("count", to=2000), client=f"c{n % 3}") for n in range(12)]
    victims = [Running(jobs, spec("hold"), client="v") for _ in range(4)]
    for victim in victims:
        os.kill((await victim.holding()).details["pid"], signal.SIGKILL)
        assert type(await victim.outcome()) is WorkerLost
    for call in quick:
        assert isinstance(await call.outcome(), JobOutcome)
    stats = jobs.stats()
    assert (stats.completed, stats.failed, stats.workers_lost) == (12, 4, 4)
    assert stats.workers <= 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/nowhere/python",), ".*No such file"),
        (("/bin/sh", "-c", "echo no luck today >&2; exit 4"), "no luck today'"),
    ],
)
async def test_a_worker_that_does_not_start_is_told(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr("acuity.jobs.worker.worker_process.PYTHON", command)
    async with Jobs(config(workers=1)) as jobs:
        with pytest.raises(WorkerLost, match=f"no worker process starts, saying '{said}"):
            await jobs.run(spec("echo"), client="a")
        assert jobs.stats().workers == 0
        assert jobs.stats().workers_started <= 4  # it does not go on trying
