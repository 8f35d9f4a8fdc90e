"""A task backend in this process: coroutines that may ask the client for input while they run."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from longwire.errors import LongwireError
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import answer, failure
from longwire.tasks.extension import Listener, Support, Task

OVER = frozenset({"completed", "failed", "cancelled"})

# Asks for input and waits until every request is answered.
Ask = Callable[[Mapping[str, types.InputRequest]], Awaitable[Mapping[str, types.InputResponse]]]
Work = Callable[[Call, Ask], Awaitable[dict[str, Any] | types.CallToolResult]]


@dataclass(frozen=True, slots=True)
class LocalWork:
    """What a tool's tasks do; `first` may answer a call before there is any task."""

    work: Work
    required: bool = False
    first: Callable[[Call], Answer | None] = lambda call: None


class LocalTasks:
    """A backend of tasks; the table says which tools have them."""

    def __init__(self, works: Mapping[str, LocalWork], *, ttl: float | None = 3600.0) -> None:
        self._works = works
        self._ttl = ttl
        self._tasks: dict[str, Task] = {}
        self._runners: dict[str, asyncio.Task[None]] = {}
        self._answered: dict[str, tuple[dict[str, types.InputResponse], asyncio.Event]] = {}
        self._listeners: dict[object, Listener] = {}
        self.left = asyncio.Event()  # set when a listener goes

    def support(self, tool: Tool) -> Support:
        work = self._works.get(tool.name)
        if work is None:
            return "never"
        return "required" if work.required else "possible"

    async def start(self, call: Call) -> Task | Answer:
        local = self._works[call.tool.name]
        if (at_once := local.first(call)) is not None:
            return at_once
        now = time.time()
        task = Task(uuid.uuid4().hex, "working", now, now, "started", self._ttl, poll=0.1)
        self._tasks[task.id] = task
        self._runners[task.id] = asyncio.create_task(self._run(task.id, local.work, call))
        return task

    async def get(self, task_id: str) -> Task | None:
        return self._tasks.get(task_id)

    async def update(self, task_id: str, responses: Mapping[str, types.InputResponse]) -> None:
        task = self._tasks[task_id]
        answers, complete = self._answered[task_id]
        answers.update(responses)
        rest = {key: request for key, request in task.requests.items() if key not in answers}
        self._change(task_id, status="input_required" if rest else "working", requests=rest)
        if not rest:
            complete.set()

    async def cancel(self, task_id: str) -> None:
        self._runners[task_id].cancel()
        self._change(task_id, status="cancelled", message="cancelled")

    def on_change(self, listener: Listener) -> Callable[[], None]:
        key = object()
        self._listeners[key] = listener

        def undo() -> None:
            del self._listeners[key]
            self.left.set()

        return undo

    async def _run(self, task_id: str, work: Work, call: Call) -> None:
        async def ask(requests: Mapping[str, types.InputRequest]) -> Mapping[str, types.InputResponse]:
            answers: dict[str, types.InputResponse] = {}
            complete = asyncio.Event()
            self._answered[task_id] = (answers, complete)
            self._change(task_id, status="input_required", requests=dict(requests))
            await complete.wait()
            return answers

        try:
            found = await work(call, ask)
        except MCPError as error:
            self._change(task_id, status="failed", error=error.error)
        except LongwireError as error:
            self._change(task_id, status="completed", result=failure(str(error)))
        else:
            result = answer(found) if isinstance(found, dict) else found
            self._change(task_id, status="completed", result=result)

    def _change(self, task_id: str, **changes: Any) -> None:
        task = self._tasks[task_id]
        if task.status in OVER:
            return
        self._tasks[task_id] = replace(task, updated=time.time(), **changes)
        for listener in list(self._listeners.values()):
            listener(task_id)
