"""A task as clients see it: the work of a call in progress. A backend stores the tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeAlias

import mcp_types as types
from pydantic import BaseModel

from longwire.product.catalog import Answer, Call, Tool

Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
# Whether calls of a tool become tasks: never, for clients that support tasks, or always.
Support: TypeAlias = Literal["never", "possible", "required"]
# Called with the id of a task whose status or open requests have changed.
Listener: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A snapshot of a task. Times are seconds since 1970."""

    id: str
    status: Status
    created: float
    updated: float
    message: str | None = None
    ttl: float | None = None  # seconds after its creation that it is kept; None: no limit
    poll: float = 1.0
    result: types.CallToolResult | None = None  # of a completed task, failed calls included
    error: types.ErrorData | None = None  # of a failed task, which has no result
    requests: Mapping[str, types.InputRequest] = field(default_factory=dict)  # open requests for input

    def summary(self) -> dict[str, Any]:
        """The document for a client when the task is created."""
        said = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated),
            "ttlMs": None if self.ttl is None else round(self.ttl * 1000),
            "pollIntervalMs": round(self.poll * 1000),
        }
        if self.message is not None:
            said["statusMessage"] = self.message
        return said

    def details(self) -> dict[str, Any]:
        """The summary with the result, the error or the open requests, depending on the status."""
        said = self.summary()
        if self.status == "completed" and self.result is not None:
            said["result"] = _wire(self.result)
        elif self.status == "failed" and self.error is not None:
            said["error"] = _wire(self.error)
        elif self.status == "input_required":
            said["inputRequests"] = {key: _wire(request) for key, request in self.requests.items()}
        return said


class TaskBackend(Protocol):
    """Creates, stores and cancels tasks."""

    def support(self, tool: Tool) -> Support: ...

    async def start(self, call: Call) -> Task | Answer:
        """A new task that `get` already finds, or an immediate answer; raises LongwireError."""
        ...

    async def get(self, task_id: str) -> Task | None: ...

    async def update(self, task_id: str, responses: Mapping[str, types.InputResponse]) -> None:
        """Pass on responses to requests; late and unknown ones have no effect."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Ask the task to stop; a finished task stays as it is."""
        ...

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call the listener whenever a status changes; returns a function that stops this."""
        ...


def _wire(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
