"""Tasks: a call's work while it goes on, as clients see it. Where they live is a backend's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeAlias

import mcp_types as types
from pydantic import BaseModel

from acuity.mcp.catalog import Answer, Call, Tool

Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]
# Whether calls of a tool become tasks: never, for clients that know what a task is, or in no other way.
Support: TypeAlias = Literal["never", "possible", "required"]
# Told which task has another status now, or waits for something else.
Listener: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A task at one moment. Times are seconds, those of the clock since 1970."""

    id: str
    status: Status
    created: float
    updated: float
    message: str | None = None
    ttl: float | None = None  # seconds from its creation that it is remembered; None is for ever
    poll: float = 1.0
    result: types.CallToolResult | None = None  # of a completed task, failed calls included
    error: types.ErrorData | None = None  # of a failed task: what the protocol itself could not do
    requests: Mapping[str, types.InputRequest] = field(default_factory=dict)  # what it waits for

    def summary(self) -> dict[str, Any]:
        """What a client is told when the task is made."""
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
        """The same with what belongs to the status: the result, the error or the open requests."""
        said = self.summary()
        if self.status == "completed" and self.result is not None:
            said["result"] = _wire(self.result)
        elif self.status == "failed" and self.error is not None:
            said["error"] = _wire(self.error)
        elif self.status == "input_required":
            said["inputRequests"] = {key: _wire(request) for key, request in self.requests.items()}
        return said


class TaskBackend(Protocol):
    """Where tasks live."""

    def support(self, tool: Tool) -> Support: ...

    async def start(self, call: Call) -> Task | Answer:
        """A task that `get` knows already, or an answer at once; raises AcuityError."""
        ...

    async def get(self, task_id: str) -> Task | None: ...

    async def update(self, task_id: str, responses: Mapping[str, types.InputResponse]) -> None:
        """Answers to requests that were open a moment ago; late and unknown ones are of no consequence."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Ask for the task to stop; one that is over stays as it is."""
        ...

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call the listener whenever a status changes, until what is returned is called."""
        ...


def _wire(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
