"""Jobs as clients see them: documents, stored reports of finished scores and comparisons, and tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, get_args

import mcp_types as types

from acuity.agents.schemas import named, outline
from acuity.agents.tool_answers import has_pictures, tool_answer
from acuity.errors import NoReport
from acuity.jobs.tasks.compare import TOOL as COMPARE
from acuity.jobs.tasks.worst import PICTURES, PREVIEWS
from longwire.principals.limits import may_see
from longwire.product.catalog import Call, Tool
from longwire.product.results import failure
from longwire.tasks.extension import Listener, Support, Task
from longwire.tasks.extension import Status as TaskStatus
from longwire.work import Progress, Status

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs


STATUSES: Final[tuple[str, ...]] = get_args(Status)

REPORTS: Final = "acuity://reports"
WORST: Final = "acuity://worst"  # pictures of worst frames
# The tools whose results are reports of a pair of videos.
_SCORES: Final = frozenset({"vmaf_score", "vmaf_score_encoded"})
_REPORTED: Final = _SCORES | {COMPARE}

JOB_ID: Final = named("From submit_job, list_jobs or a score's answer.", 128)


def job_schema(more: str = "") -> dict[str, Any]:
    return outline(f"job_id,status:string progress:object? error,report:string? {more}")


def job_document(job: Job) -> dict[str, Any]:
    """The document of a job; times are ISO 8601 in UTC."""
    return {
        "job_id": job.id,
        "status": job.status,
        "queue_position": job.queue_position,
        "progress": _progress(job.progress) if job.progress is not None else None,
        "error": job.error,
        "tool": job.tool,
        "title": job.title,
        "created": timestamp(job.created),
        "started": timestamp(job.started),
        "finished": timestamp(job.finished),
        "report": report_uri(job.id) if has_report(job) else None,
    }


def brief_job(job: Job) -> dict[str, Any]:
    """The short document of a job for lists, without entries that say nothing at its status."""
    document = job_document(job)
    empty = {name for name in ("queue_position", "progress", "error") if document[name] is None}
    left = {"started", "finished", "report", *empty, *(("progress",) if job.over else ())}
    return {name: value for name, value in document.items() if name not in left}


def linked(tool: str, job_id: str, document: dict[str, Any]) -> dict[str, Any]:
    """The document of a tool with entries that link it to its job and to its report or pictures."""
    if tool in _REPORTED:
        return {**document, "job_id": job_id, "report": report_uri(job_id)}
    if PREVIEWS in document:
        # The URIs of pictures are for clients that don't see the server's disk.
        frames = [
            {
                **frame,
                "resources": {kind: picture_uri(job_id, frame[name]) for kind, name in PICTURES.items()},
            }
            for frame in document["frames"]
        ]
        name = document["contact_sheet"]
        sheet = None if name is None else picture_uri(job_id, name)
        return {**document, "frames": frames, "contact_sheet_resource": sheet, "job_id": job_id}
    return document


def picture_uri(job_id: str, name: str) -> str:
    return f"{WORST}/{job_id}/{os.path.basename(name)}"


def has_report(job: Job) -> bool:
    return job.status == "completed" and job.tool in _REPORTED


def report_uri(job_id: str) -> str:
    return f"{REPORTS}/{job_id}"


def timestamp(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _progress(progress: Progress) -> dict[str, Any]:
    return {**progress.details, "done": progress.done, "total": progress.total, "message": progress.message}


async def stored_report(jobs: Jobs, job_id: str) -> dict[str, Any]:
    """The whole report of a finished score or comparison; raises NoReport with the reason."""
    job = await jobs.get(job_id)
    if job is None or not may_see(job.client):
        raise NoReport(f"there is no report '{job_id}': list_jobs and {REPORTS} have those that are kept")
    if not job.over:
        raise NoReport(f"job '{job_id}' is {job.status}: its report is here once it has completed")
    if not has_report(job):
        why = "isn't a score" if job.status == "completed" else f"ended as {job.status}"
        raise NoReport(f"job '{job_id}' has no report: it ran {job.tool} and {why}")
    document = await jobs.result(job_id)
    if document is None:
        raise NoReport(f"the report of job '{job_id}' wasn't kept: run {job.tool} again")
    return linked(job.tool, job.id, document)


# A failed job is a completed task with a failed result, as a direct call would have. Only an interrupted job
# is a failed task, because it has no result.
_STATUSES: Final[Mapping[Status, TaskStatus]] = {
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
        found = linked(job.tool, job.id, document)
        return await asyncio.to_thread(tool_answer, found) if has_pictures(found) else tool_answer(found)


def _message(job: Job) -> str | None:
    if job.queue_position is not None:
        return f"waiting, number {job.queue_position} in the queue"
    if job.status == "running" and job.progress is not None:
        return job.progress.message
    return job.error
