"""submit_job, get_job, list_jobs and cancel_job, asked by the SDK's own client."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from fake_jobs import REPORT, FakeJobs, serve
from longwire.product.results import to_ordered_text
from longwire.work import JobSpec, Progress
from scoring_room import Ask, asking


@pytest.fixture
def jobs() -> FakeJobs:
    return FakeJobs()


@pytest.fixture
def ask(jobs: FakeJobs) -> AbstractAsyncContextManager[Ask]:
    return asking(serve(jobs))


async def test_a_submitted_job_is_planned_with_checked_arguments(jobs: FakeJobs, ask: Ask) -> None:
    job = await ask("submit_job", tool="vmaf_score", arguments={"ref": "a.yuv"})
    nothing = dict.fromkeys(("started", "finished", "progress", "error", "report"))
    known = {"job_id": "job-1", "tool": "vmaf_score", "title": "vmaf_score of a.yuv", "status": "queued"}
    assert job == known | nothing | {"created": "2023-11-14T22:13:21.000Z", "queue_position": 1}
    assert jobs.specs["job-1"].payload == {"ref": "a.yuv", "threads": 4}


UNKNOWN = "there is no job 'nobody': list_jobs shows those that are known; old ones are forgotten"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "submit_job",
        {"tool": "vmaf_score", "arguments": {}},
        "tool 'vmaf_score' missing required argument: 'ref'",
    ),
    ("submit_job", {"tool": "vmaf_score"}, "tool 'vmaf_score' missing required argument: 'ref'"),
    (
        "submit_job",
        {"tool": "vmaf_score", "arguments": {"ref": "a", "fps": 1}},
        "tool 'vmaf_score' has no argument 'fps'; it takes: ref, threads",
    ),
    (
        "submit_job",
        {"tool": "vmaf_version", "arguments": {}},
        "invalid tool 'vmaf_version': use one of 'vmaf_score', 'run_benchmark'",
    ),
    (
        "submit_job",
        {"tool": "vmaf_score", "arguments": "a.yuv"},
        "invalid arguments 'a.yuv': should be of type object",
    ),
    ("submit_job", {"arguments": {}}, "tool 'submit_job' missing required argument: 'tool'"),
    ("list_jobs", {"limit": 0}, "invalid limit 0: should be 1 or more"),
    ("list_jobs", {"limit": 501}, "invalid limit 501: should be 500 or less"),
    (
        "list_jobs",
        {"status_filter": ["done"]},
        "invalid status_filter.0 'done': use one of 'queued', 'running', 'completed', 'failed', "
        "'cancelled', 'interrupted'",
    ),
    ("get_job", {"job_id": "nobody"}, UNKNOWN),
    ("cancel_job", {"job_id": "nobody"}, UNKNOWN),
]


@pytest.mark.parametrize(("tool", "arguments", "sentence"), REFUSED)
async def test_what_can_not_be_done_is_refused_at_once(
    jobs: FakeJobs, ask: Ask, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    assert await ask(tool, **arguments) == {"error": sentence}
    assert jobs.specs == {}


async def test_a_running_job_tells_how_far_it_is(jobs: FakeJobs, ask: Ask) -> None:
    await ask("submit_job", tool="vmaf_score", arguments={"ref": "a.yuv"})
    details = {"fps": 25.5, "eta_seconds": 1.4, "mean": 90.1}
    jobs.run("job-1", Progress(12, 48, "12 of 48 frames", details))
    job = await ask("get_job", job_id="job-1")
    assert (job["status"], job["started"]) == ("running", "2023-11-14T22:13:22.000Z")
    assert job["queue_position"] is job["result"] is None
    assert job["progress"] == {"done": 12, "total": 48, "message": "12 of 48 frames", **details}


async def test_a_completed_score_has_its_result_and_the_address_of_its_report(
    jobs: FakeJobs, ask: Ask
) -> None:
    await jobs.completed()
    job = await ask("get_job", job_id="job-1")
    assert job["status"] == "completed"
    assert job["finished"] == "2023-11-14T22:13:23.500Z"
    assert job["report"] == "acuity://reports/job-1"
    expected = {**REPORT, "job_id": "job-1", "report": "acuity://reports/job-1"}
    assert {name: job["result"][name] for name in expected} == expected
    assert list(job)[:3] == ["job_id", "status", "result"]
    assert next(iter(job["result"].items())) == ("score", 69.311728)


@pytest.mark.parametrize("asked", [False, True])
async def test_a_submitted_job_obeys_what_its_arguments_say_about_frames(
    jobs: FakeJobs, ask: Ask, asked: bool
) -> None:
    many = [{"frameNum": n, "metrics": {"vmaf": 50.0 + n / 10}} for n in range(400)]
    await ask("submit_job", tool="vmaf_score", arguments={"ref": "a.yuv"})
    jobs.complete("job-1", {**REPORT, "frames": many, "include_frames": asked})
    result = (await ask("get_job", job_id="job-1"))["result"]
    assert bool(result["frames"]) is asked
    assert "include_frames" not in result
    other = (await ask("get_job", job_id="job-1", include_frames=not asked))["result"]
    assert bool(other["frames"]) is not asked


async def test_a_failed_job_says_why(jobs: FakeJobs, ask: Ask) -> None:
    await ask("submit_job", tool="vmaf_score", arguments={"ref": "a.yuv"})
    jobs.run("job-1")
    jobs.end("job-1", "failed", "'a.yuv' ends in the middle of frame 3")
    job = await ask("get_job", job_id="job-1")
    assert (job["status"], job["error"]) == ("failed", "'a.yuv' ends in the middle of frame 3")
    assert (job["result"], job["report"]) == (None, None)


async def test_jobs_are_listed_newest_first_by_status_and_up_to_a_limit(jobs: FakeJobs, ask: Ask) -> None:
    for name in ("a", "b", "c"):
        await ask("submit_job", tool="vmaf_score", arguments={"ref": name})
    jobs.complete("job-2")
    everything = await ask("list_jobs")
    assert [job["job_id"] for job in everything["jobs"]] == ["job-3", "job-2", "job-1"]
    assert (everything["count"], everything["truncated"]) == (3, False)
    some = await ask("list_jobs", status_filter=["completed", "failed"])
    assert [job["job_id"] for job in some["jobs"]] == ["job-2"]
    first = await ask("list_jobs", limit=1)
    assert [job["job_id"] for job in first["jobs"]] == ["job-3"]
    assert (first["count"], first["truncated"]) == (1, True)


async def test_a_list_of_jobs_is_brief_until_more_is_asked_for(jobs: FakeJobs, ask: Ask) -> None:
    for name in ("a", "b", "c", "d"):
        await ask("submit_job", tool="vmaf_score", arguments={"ref": name})
    jobs.complete("job-1")
    jobs.run("job-2", Progress(12, 48, "12 of 48 frames", {"mean": 90.1}))
    jobs.end("job-3", "failed", "'c' is empty")
    always = ["tool", "title", "created"]
    waiting, failed, running, completed = (await ask("list_jobs"))["jobs"]
    assert list(waiting) == ["job_id", "status", "queue_position", *always]
    assert list(failed) == ["job_id", "status", "error", *always]
    assert list(running) == ["job_id", "status", "progress", *always]
    assert running["progress"]["done"] == 12
    assert list(completed) == ["job_id", "status", *always]
    detailed = (await ask("list_jobs", detail=True))["jobs"]
    assert detailed[-1]["report"] == "acuity://reports/job-1"
    for number in range(96):
        await ask("submit_job", tool="vmaf_score", arguments={"ref": f"clip{number}.yuv"})
    listed = await ask("list_jobs")
    assert (listed["count"], listed["truncated"]) == (20, True)
    assert len(to_ordered_text(listed)) < 5000


async def test_cancelling_can_be_repeated(ask: Ask) -> None:
    await ask("submit_job", tool="vmaf_score", arguments={"ref": "a"})
    first = await ask("cancel_job", job_id="job-1")
    assert (first["status"], first["message"]) == ("cancelled", "cancelled")
    again = await ask("cancel_job", job_id="job-1")
    assert (again["status"], again["message"]) == ("cancelled", "nothing to cancel: it is cancelled already")


async def test_a_job_that_ends_while_it_is_being_cancelled(jobs: FakeJobs, ask: Ask) -> None:
    async def completes(id: str) -> Any:
        return jobs.complete(id)

    jobs.cancel = completes  # type: ignore[method-assign]
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "a pair"), client="test")
    assert (await ask("cancel_job", job_id="job-1"))["message"] == "too late: it has completed"
