"""The tools submit_job, get_job, list_jobs and cancel_job."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

from acuity.agents import CARRIERS
from acuity.agents.job_documents import JOB_ID, STATUSES, brief_job, job_document, job_schema, linked
from acuity.agents.schemas import array, choices, flag, outline, record, whole
from acuity.agents.score_answers import FRAMES_SCHEMA
from acuity.agents.tool_answers import IMAGES_SCHEMA, shown_document, with_pictures
from acuity.agents.tools.services import Services
from acuity.errors import JobError
from acuity.jobs.service import Job, Jobs
from longwire.principals.limits import may_see, owner
from longwire.product.calls import check
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import ordered_answer

_SUBMIT: Final = """\
Start a long tool in the background and get a job_id at once: for clips longer than a minute, for 4K, for \
several pairs, or whenever your client may give up waiting. Then call get_job every few seconds until \
status is completed, failed, cancelled or interrupted. The job goes on when you disconnect, and its result \
outlives a restart of the server. A wrong path or option is refused at once."""

_GET: Final = """\
How a job is doing: status, queue_position while it waits, progress (done, total, fps, eta_seconds, mean) \
while it runs, the reason in error if it failed, and in result the tool's answer once status is completed. \
Poll it every few seconds. get_frames reads single frames."""

_LIST: Final = """\
Jobs of this server, newest first: waiting, running and finished, tools called directly included. Use it \
to find a job_id again, to see what occupies the machine, or to follow several jobs. get_job or \
detail=true tell more."""

_CANCEL: Final = """\
Stop a job that is waiting or running; the cores are free within a second, and what it had measured is \
lost. A job that is over stays as it is, and `message` says so."""

_SHOWN: Final = 20  # jobs, unless more are asked for


def tools(services: Services, long_tools: Sequence[Tool]) -> list[Tool]:
    """The job tools, for those of the given tools that have a plan."""
    its = _JobTools(services.jobs, long_tools)
    submit = {
        "tool": choices(its.long, "The tool to run."),
        "arguments": {"type": "object", "description": "Those of that tool.", "default": {}},
    }
    one, acts = record("job_id", job_id=JOB_ID), partial(Tool, read_only=False)
    started, cancelled = job_schema(), job_schema("message:string")
    starts = partial(acts, runs=CARRIERS["submit_job"], idempotent=False)
    return [
        starts("submit_job", "Start a job", _SUBMIT, record("tool", **submit), its.submit, started),
        Tool("get_job", "Look at a job", _GET, _ONE, its.get, job_schema("result:object?")),
        Tool("list_jobs", "List jobs", _LIST, _FILTER, its.list, _JOBS),
        acts("cancel_job", "Cancel a job", _CANCEL, one, its.cancel, cancelled, destructive=True),
    ]


class _JobTools:
    def __init__(self, jobs: Jobs, long_tools: Sequence[Tool]) -> None:
        self._jobs = jobs
        self.long = {tool.name: tool for tool in long_tools if tool.plan is not None}

    async def submit(self, call: Call) -> dict[str, Any]:
        tool = self.long[call.arguments["tool"]]
        spec = await tool.job(call, check(tool, call.arguments["arguments"]))
        return job_document(await self._jobs.submit(spec, client=call.client))

    async def get(self, call: Call) -> Answer:
        job = await _known(self._jobs.get, call.arguments["job_id"])
        document = await self._jobs.result(job.id) if job.status == "completed" else None
        found = job_document(job)
        if document is None:
            return ordered_answer({**found, "result": None})
        asked = call.arguments.get("include_frames"), call.arguments.get("images")
        # In a thread, because writing a thousand frames would block the event loop.
        return await asyncio.to_thread(_answer, found, linked(job.tool, job.id, document), *asked)

    async def list(self, call: Call) -> Answer:
        asked = call.arguments
        jobs, truncated = await self._jobs.list(asked["status_filter"], asked["limit"], owner())
        shown = [job_document(job) if asked["detail"] else brief_job(job) for job in jobs]
        return ordered_answer({"count": len(jobs), "truncated": truncated, "jobs": shown})

    async def cancel(self, call: Call) -> dict[str, Any]:
        before = await _known(self._jobs.get, call.arguments["job_id"])
        if before.over:
            return {**job_document(before), "message": f"nothing to cancel: it is {before.status} already"}
        after = await _known(self._jobs.cancel, before.id)
        # It may have ended by itself between the two calls.
        message = "cancelled" if after.status == "cancelled" else f"too late: it has {after.status}"
        return {**job_document(after), "message": message}


_IMAGES: Final = {**IMAGES_SCHEMA, "description": "As in vmaf_score_encoded."}
_ONE: Final = record("job_id", job_id=JOB_ID, include_frames=FRAMES_SCHEMA, images=_IMAGES)
_FILTER: Final = record(
    status_filter=array(
        {"enum": list(STATUSES)}, len(STATUSES), "Only jobs of these statuses; empty for all.", default=[]
    ),
    limit=whole("At most so many.", minimum=1, maximum=500, default=_SHOWN),
    detail=flag("Everything that get_job says but results.", default=False),
)
_JOBS: Final = outline("jobs:array count:integer truncated:boolean")


def _answer(
    job: dict[str, Any], document: dict[str, Any], include_frames: bool | None, images: Sequence[str] | None
) -> Answer:
    """The answer about a job, with the pictures of its result."""
    result, pictures = shown_document(document, include_frames, images)
    # The result comes first, so that an answer that a client truncates still has the score.
    ordered = {"job_id": job["job_id"], "status": job["status"], "result": result} | job
    return with_pictures(ordered_answer(ordered), pictures)


async def _known(ask: Callable[[str], Awaitable[Job | None]], job_id: str) -> Job:
    job = await ask(job_id)
    if job is None or not may_see(job.client):
        raise JobError(
            f"there is no job '{job_id}': list_jobs shows those that are known; old ones are forgotten"
        )
    return job
