"""Creates tools whose work is a job. A call waits for its job; cancelling the call cancels the job.

Progress is sent at a limited rate, always increasing, and always the last one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import anyio.to_thread

from acuity.agents.job_documents import linked
from acuity.agents.score_answers import ASKED
from acuity.agents.tool_answers import has_pictures, tool_answer
from acuity.agents.tools.services import Services
from longwire.product.catalog import Answer, Arguments, Call, Planner, Tool
from longwire.work import JobSpec, Progress

Send: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

# Eight a second and the last one are at most ten in any second.
_INTERVAL: Final = 0.125
# The protocol requires increasing values, so a change in the queue adds a small step.
_STEP: Final = 0.001


class ProgressNotifications:
    """Passes progress on to `send`, which sends it only if the client asked for it."""

    def __init__(self, send: Send, now: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._now = now
        self._due = float("-inf")
        self._value: float | None = None  # the last one sent
        self._message: str | None = None
        self._unsent: Progress | None = None

    async def send(self, progress: Progress) -> None:
        """Send the progress, or keep it if the last one was sent a moment ago."""
        self._unsent = progress
        if self._now() >= self._due:
            await self.finish()

    async def finish(self) -> None:
        """Send the progress that was kept, if any."""
        progress, self._unsent = self._unsent, None
        if progress is None:
            return
        value = self._next(progress)
        if value is None:
            return
        self._due = self._now() + _INTERVAL
        self._value, self._message = value, progress.message
        await self._send(value, progress.total, progress.message)

    def _next(self, progress: Progress) -> float | None:
        """The value to send; None if nothing is new."""
        if self._value is None or progress.done > self._value:
            return progress.done
        stepped = self._value + _STEP
        if progress.message == self._message or (progress.total is not None and stepped > progress.total):
            return None
        return stepped


_MANY: Final = 50  # frames; writing more would block the event loop for milliseconds
# The limits of short work: it is probably done in seconds, or leaves the place for short work after a while.
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
    *,
    shaped: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    **more: Any,
) -> Tool:
    """A tool that runs the job that `plan` makes of its arguments.

    The plan is kept in the tool, so the same work can be submitted as a job or run as a task. The caller's
    `include_frames` is stored with the job, so that all three ways obey it. An answer with a report
    or pictures also says where they can be read again. `shaped` makes the tool's document of the job's;
    `more` are further fields of the tool.
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
        document = linked(name, outcome.id, shaped(outcome.document))
        if has_pictures(document) or len(document.get("frames", ())) > _MANY:
            return await anyio.to_thread.run_sync(tool_answer, document)
        return tool_answer(document)

    return Tool(name, title, description, input_schema, run, output_schema, plan=plan_with_choice, **more)
