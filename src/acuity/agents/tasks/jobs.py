"""The backend of the tasks extension: each task is a job of the job service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import mcp_types as types

from acuity.agents.tasks.documents import result_document
from acuity.agents.tool_answers import has_pictures, tool_answer
from acuity.jobs import job as spec
from longwire.principals.limits import may_see
from longwire.product.catalog import Call, Tool
from longwire.product.results import failure
from longwire.tasks.extension import Listener, Status, Support, Task

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs

# A failed job is a completed task with a failed result, as a direct call would have. Only an interrupted job
# is a failed task, because it has no result.
_STATUSES: Final[Mapping[spec.Status, Status]] = {
    "queued": "working",
    "running": "working",
    "completed": "completed",
    "failed": "completed",
    "cancelled": "cancelled",
    "interrupted": "failed",
}


class JobTasks:
    """Tasks over the job service; a task has the id of its job."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def support(self, tool: Tool) -> Support:
        return "never" if tool.plan is None else "possible"

    async def start(self, call: Call) -> Task:
        job = await self._jobs.submit(await call.tool.job(call, call.arguments), client=call.client)
        return await self._task(job)

    async def get(self, task_id: str) -> Task | None:
        job = await self._jobs.get(task_id)
        return await self._task(job) if job is not None and may_see(job.client) else None

    async def update(self, task_id: str, responses: Mapping[str, types.InputResponse]) -> None:
        """Does nothing: jobs never ask for input."""

    async def cancel(self, task_id: str) -> None:
        await self._jobs.cancel(task_id)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        return self._jobs.on_change(lambda job: listener(job.id), everywhere=True)

    async def _task(self, job: Job) -> Task:
        return Task(
            id=job.id,
            status=_STATUSES[job.status],
            created=job.created,
            updated=job.changed if job.over or job.progress is None else max(job.changed, job.progress.at),
            message=_message(job),
            ttl=None,  # finished jobs are deleted by number, not by age
            result=await self._result(job),
            error=types.ErrorData(code=types.INTERNAL_ERROR, message=job.error or "interrupted")
            if job.status == "interrupted"
            else None,
        )

    async def _result(self, job: Job) -> types.CallToolResult | None:
        if job.status == "failed":
            return failure(job.error or "failed")
        if job.status != "completed":
            return None
        document = await self._jobs.result(job.id)
        if document is None:
            return failure(f"the result of job '{job.id}' is no longer remembered: run it again")
        found = result_document(job, document)
        return await asyncio.to_thread(tool_answer, found) if has_pictures(found) else tool_answer(found)


def _message(job: Job) -> str | None:
    if job.queue_position is not None:
        return f"waiting, number {job.queue_position} in the queue"
    if job.status == "running" and job.progress is not None:
        return job.progress.message
    return job.error
