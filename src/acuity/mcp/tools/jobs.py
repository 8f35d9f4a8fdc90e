"""Jobs: long tools started without waiting, looked at later, stopped when nobody needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import JobError
from acuity.mcp.arguments import check
from acuity.mcp.catalog import Answer, Call, Tool
from acuity.mcp.clients import may_see, owner
from acuity.mcp.fitting import FRAMES_SCHEMA, fit
from acuity.mcp.job_documents import JOB_PROPERTIES, STATUSES, job_document, result_document
from acuity.mcp.results import answer
from acuity.mcp.schemas import array, flag, record, text, whole

if TYPE_CHECKING:
    from acuity.jobs.service import Job, Jobs
    from acuity.mcp.services import Services

_JOB_ID: Final = {
    **text("The job_id that submit_job gave, or one from list_jobs."),
    "minLength": 1,
    "maxLength": 128,
}

_SUBMIT: Final = """\
Start a long tool in the background and get a job_id at once. Use this instead of calling the tool itself \
for clips longer than a minute, for 4K, for several pairs at once, or whenever your client may give up \
waiting. Then call get_job every few seconds until status is completed, failed, cancelled or interrupted. \
The job goes on when you disconnect, and its result is still there after a restart of the server. \
`arguments` are exactly those of the tool; they are checked now, so a wrong path or option is refused here."""

_GET: Final = """\
How a job is doing: status, queue_position while it waits, progress (frames done and total, fps, \
eta_seconds, running mean) while it runs, the reason in error if it failed, and in result what the tool \
itself would have answered once status is completed. Poll it every few seconds, not in a tight loop. \
For clips of thousands of frames pass include_frames=false and read the frames from the report's resource: \
`report` names it, and the same name with .csv gives a table."""

_LIST: Final = """\
Jobs of this server, newest first: waiting, running and finished ones, tools called directly included. \
Use it to find a job_id again after a reconnect, or to see what occupies the machine. \
status_filter keeps the statuses you name; an empty one keeps all."""

_CANCEL: Final = """\
Stop a job that is waiting or running; its processes end and the cores are free within a second. \
What it had measured is lost. Harmless when repeated: a job that is over stays as it is, and `message` \
says so."""


def tools(services: Services, long_tools: Sequence[Tool]) -> list[Tool]:
    """The job tools, for those of the given tools whose work can be planned."""
    family = _JobTools(services.jobs, long_tools)
    return [family.submit_tool(), family.get_tool(), family.list_tool(), family.cancel_tool()]


class _JobTools:
    def __init__(self, jobs: Jobs, long_tools: Sequence[Tool]) -> None:
        self._jobs = jobs
        self._long = {tool.name: tool for tool in long_tools if tool.plan is not None}

    async def _submit(self, call: Call) -> dict[str, Any]:
        tool = self._long[call.arguments["tool"]]
        assert tool.plan is not None
        spec = await tool.plan(check(tool, call.arguments["arguments"]))
        return job_document(await self._jobs.submit(spec, client=call.client))

    async def _get(self, call: Call) -> Answer:
        job = await _known(self._jobs.get, call.arguments["job_id"])
        document = await self._jobs.result(job.id) if job.status == "completed" else None
        result = result_document(job, document) if document is not None else None
        if result is not None:
            result = fit(result, call.arguments.get("include_frames"))
        # Making text of a hundred thousand frames takes a while, in which others want answers too.
        return await asyncio.to_thread(answer, {**job_document(job), "result": result})

    async def _list(self, call: Call) -> dict[str, Any]:
        wanted = call.arguments["status_filter"]
        jobs, truncated = await self._jobs.list(wanted, call.arguments["limit"], owner())
        return {"jobs": [job_document(job) for job in jobs], "count": len(jobs), "truncated": truncated}

    async def _cancel(self, call: Call) -> dict[str, Any]:
        before = await _known(self._jobs.get, call.arguments["job_id"])
        if before.over:
            return {**job_document(before), "message": f"nothing to cancel: it is {before.status} already"}
        after = await _known(self._jobs.cancel, before.id)
        # It may have come to an end of its own between the two.
        message = "cancelled" if after.status == "cancelled" else f"too late: it has {after.status}"
        return {**job_document(after), "message": message}

    def submit_tool(self) -> Tool:
        properties = {
            "tool": {**text("The tool to run."), "enum": list(self._long)},
            "arguments": {
                "type": "object",
                "description": "The arguments of that tool, as its own input schema has them.",
                "default": {},
            },
        }
        return Tool(
            name="submit_job",
            title="Start a job",
            description=_SUBMIT,
            input_schema=record(properties, optional=("arguments",)),
            output_schema=record(JOB_PROPERTIES),
            run=self._submit,
            read_only=False,
            idempotent=False,
        )

    def get_tool(self) -> Tool:
        result = {"type": ["object", "null"], "description": "What the tool answers; null until completed."}
        return Tool(
            name="get_job",
            title="Look at a job",
            description=_GET,
            input_schema=record(
                {"job_id": _JOB_ID, "include_frames": FRAMES_SCHEMA},
                optional=("include_frames",),
            ),
            output_schema=record({**JOB_PROPERTIES, "result": result}),
            run=self._get,
        )

    def list_tool(self) -> Tool:
        statuses = array({**text(), "enum": list(STATUSES)}, "Only jobs of these statuses; empty for all.")
        limit = whole("At most so many; `truncated` says whether there are more.")
        properties = {
            "status_filter": {**statuses, "default": []},
            "limit": {**limit, "minimum": 1, "maximum": 500, "default": 100},
        }
        return Tool(
            name="list_jobs",
            title="List jobs",
            description=_LIST,
            input_schema=record(properties, optional=tuple(properties)),
            output_schema=record(
                {
                    "jobs": array(record(JOB_PROPERTIES)),
                    "count": whole("How many are listed here."),
                    "truncated": flag("Whether limit left some out."),
                }
            ),
            run=self._list,
        )

    def cancel_tool(self) -> Tool:
        return Tool(
            name="cancel_job",
            title="Cancel a job",
            description=_CANCEL,
            input_schema=record({"job_id": _JOB_ID}),
            output_schema=record({**JOB_PROPERTIES, "message": text("What came of it, in words.")}),
            run=self._cancel,
            read_only=False,
            destructive=True,
        )


async def _known(ask: Callable[[str], Awaitable[Job | None]], job_id: str) -> Job:
    job = await ask(job_id)
    if job is None or not may_see(job.client):
        raise JobError(
            f"there is no job '{job_id}': list_jobs shows those that are known; old ones are forgotten"
        )
    return job
