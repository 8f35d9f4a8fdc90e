"""Creates tools whose work is a job. A call waits for its job; cancelling the call cancels the job."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from acuity.agents.score_answers import ASKED
from acuity.agents.tasks.documents import linked
from acuity.agents.tool_answers import has_pictures, tool_answer
from acuity.agents.tools.progress_notifications import ProgressNotifications
from acuity.jobs.job import JobSpec
from longwire.product.catalog import Answer, Arguments, Call, Planner, Tool

if TYPE_CHECKING:
    from acuity.agents.services import Services

_MANY: Final = 50  # frames; writing more would block the event loop for milliseconds
# What is probably scored in seconds, and otherwise leaves the place for short work after a while.
_FEW: Final = 50  # frames
_SMALL: Final = 32 << 20  # bytes of all files together


def is_short(frames: int, *paths: str | None) -> bool:
    """Whether scoring these files is short work: at most a few frames of them (0: all), or small files."""
    try:
        return 0 < frames <= _FEW or sum(os.path.getsize(path) for path in paths if path) <= _SMALL
    except OSError:  # one has just been removed, which is found out at once
        return True


def long_tool(
    services: Services,
    name: str,
    title: str,
    description: str,
    input_schema: dict[str, Any],
    output_schema: dict[str, Any] | None,
    plan: Planner,
    **more: Any,
) -> Tool:
    """A tool that runs the job that `plan` makes of its arguments.

    The plan is kept in the tool, so the same work can be submitted as a job or run as a task. The caller's
    `include_frames` is stored with the job, so that all three ways obey it. An answer with a report
    or pictures also says where they can be read again. `more` are further fields of the tool.
    """

    async def plan_with_choice(arguments: Arguments) -> JobSpec:
        spec = await plan(arguments)
        if ASKED not in arguments:
            return spec
        echo = {**spec.payload.get("echo", {}), ASKED: arguments[ASKED]}
        return replace(spec, payload={**spec.payload, "echo": echo})

    async def run(call: Call) -> Answer:
        spec = await call.tool.job(call, call.arguments)
        notifications = ProgressNotifications(call.progress)
        outcome = await services.jobs.run(spec, client=call.client, progress=notifications.send)
        await notifications.finish()
        document = linked(name, outcome.id, outcome.document)
        if has_pictures(document) or len(document.get("frames", ())) > _MANY:
            return await anyio.to_thread.run_sync(tool_answer, document)
        return tool_answer(document)

    return Tool(name, title, description, input_schema, run, output_schema, plan=plan_with_choice, **more)
