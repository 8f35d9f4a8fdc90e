"""Jobs as tasks: what a client that knows tasks sees of a job, next to what a plain call would give."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from acuity.agents.job_documents import JobTasks
from acuity.agents.score_answers import score_answer
from acuity.errors import JobError
from fake_jobs import LONG_TOOLS, REPORT, FakeJobs
from longwire.product.app import build_server
from longwire.product.catalog import Catalog
from longwire.product.results import failure, ordered_answer
from longwire.tasks.extension import Tasks
from longwire.work import Progress
from task_client import MODERN, TaskClient, ask, begin
from tool_results import wire_sentence


@asynccontextmanager
async def playing() -> AsyncIterator[tuple[Client, FakeJobs, str]]:
    """A client, and a job that was made of its call."""
    jobs = FakeJobs()
    backend = JobTasks(jobs)  # type: ignore[arg-type]
    catalog = Catalog(tools=LONG_TOOLS, extensions=[Tasks(LONG_TOOLS, backend)])
    server = build_server(catalog, name="test", version="1")
    async with Client(server, mode=MODERN, extensions=[TaskClient()]) as client:
        created = await begin(client, "vmaf_score", {"ref": "a.yuv"})
        yield client, jobs, created.task_id


async def test_a_call_is_planned_and_submitted() -> None:
    async with playing() as (client, jobs, task_id):
        spec = jobs.specs[task_id]
        assert spec.payload == {"ref": "a.yuv", "threads": 4}
        assert (await jobs.get(task_id)).client == "local"
        task = await ask(client, "tasks/get", task_id)
        assert task["status"] == "working"
        assert task["statusMessage"] == "waiting, number 1 in the queue"
        assert task["createdAt"] == task["lastUpdatedAt"] == "2023-11-14T22:13:21.000Z"
        assert task["ttlMs"] is None


async def test_progress_is_in_the_message() -> None:
    async with playing() as (client, jobs, task_id):
        jobs.run(task_id, Progress(3, 10, "3 of 10 frames", at=1_700_000_010.5))
        task = await ask(client, "tasks/get", task_id)
        assert (task["status"], task["statusMessage"]) == ("working", "3 of 10 frames")
        assert task["lastUpdatedAt"] == "2023-11-14T22:13:30.500Z", "it moves with the progress"


def wire(result: types.CallToolResult) -> dict[str, Any]:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


async def test_a_completed_job_has_the_calls_result() -> None:
    async with playing() as (client, jobs, task_id):
        jobs.complete(task_id)
        task = await ask(client, "tasks/get", task_id)
        assert task["status"] == "completed"
        report = {**REPORT, "job_id": task_id, "report": f"acuity://reports/{task_id}"}
        assert task["result"] == wire(ordered_answer(score_answer(report)))


async def test_a_failed_job_is_a_completed_task_with_a_failed_result() -> None:
    async with playing() as (client, jobs, task_id):
        jobs.end(task_id, "failed", "'a.yuv' ends in the middle of a frame")
        task = await ask(client, "tasks/get", task_id)
        assert task["status"] == "completed"
        assert task["result"] == wire(failure("'a.yuv' ends in the middle of a frame"))


async def test_an_interrupted_job_is_a_failed_task() -> None:
    async with playing() as (client, jobs, task_id):
        jobs.end(task_id, "interrupted", "the server stopped: submit it again")
        task = await ask(client, "tasks/get", task_id)
        error = {"code": types.INTERNAL_ERROR, "message": "the server stopped: submit it again"}
        assert (task["status"], task["error"]) == ("failed", error)


async def test_a_result_that_was_forgotten_is_said_to_be() -> None:
    async with playing() as (client, jobs, task_id):
        jobs.complete(task_id)
        jobs.forget_result(task_id)
        result = (await ask(client, "tasks/get", task_id))["result"]
        assert "no longer remembered" in wire_sentence(result)


async def test_cancelling_a_task_cancels_its_job() -> None:
    async with playing() as (client, jobs, task_id):
        await ask(client, "tasks/cancel", task_id)
        assert (await jobs.get(task_id)).status == "cancelled"
        assert (await ask(client, "tasks/get", task_id))["status"] == "cancelled"


async def test_an_error_of_the_service_is_told() -> None:
    async with playing() as (client, jobs, task_id):

        async def elsewhere(_: str) -> None:
            raise JobError("that job is another server's: cancel it there")

        jobs.cancel = elsewhere  # type: ignore[method-assign]
        with pytest.raises(MCPError, match="another server's"):
            await ask(client, "tasks/cancel", task_id)


async def test_changes_of_jobs_are_changes_of_tasks() -> None:
    jobs = FakeJobs()
    heard: list[str] = []
    undo = JobTasks(jobs).on_change(heard.append)  # type: ignore[arg-type]
    job = await jobs.completed()
    assert heard == [job.id] * 3
    undo()
    await jobs.completed()
    assert heard == [job.id] * 3
