"""The official tasks extension: a client that declares it gets a task for a long call.

The server decides whether a call becomes a task; the client only declares that it supports tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol, TypeAlias

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.extension import Extension, MethodBinding, RequestHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from longwire.names import expected_errors
from longwire.product.calls import perform
from longwire.product.catalog import Answer, Call, Context, Tool
from longwire.product.results import answer

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

    async def get(self, task_id: str) -> Task | None: ...

    async def update(self, task_id: str, responses: Mapping[str, types.InputResponse]) -> None:
        """Pass on responses to requests; late and unknown ones have no effect."""

    async def cancel(self, task_id: str) -> None:
        """Ask the task to stop; a finished task stays as it is."""

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call the listener whenever a status changes; returns a function that stops this."""


def _wire(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


IDENTIFIER: Final = "io.modelcontextprotocol/tasks"

_VERSIONS: Final = frozenset(MODERN_PROTOCOL_VERSIONS)

# The valid responses to each kind of request.
_RESPONSES: Final[dict[str, TypeAdapter[Any]]] = {
    "elicitation/create": TypeAdapter(types.ElicitResult),
    "roots/list": TypeAdapter(types.ListRootsResult),
    "sampling/createMessage": TypeAdapter(types.CreateMessageResult | types.CreateMessageResultWithTools),
}


class TaskParams(types.RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


class Tasks(Extension):
    """Serves the task methods from a backend, and turns calls of long tools into tasks."""

    identifier = IDENTIFIER

    def __init__(self, tools: Sequence[Tool], backend: TaskBackend) -> None:
        self._backend = backend
        self._tools = {tool.name: tool for tool in tools}

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("tasks/get", TaskParams, _spoken(self._get), _VERSIONS),
            MethodBinding("tasks/update", UpdateParams, _spoken(self._update), _VERSIONS),
            MethodBinding("tasks/cancel", TaskParams, _spoken(self._cancel), _VERSIONS),
        )

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        tool = self._tools.get(params.name)
        support = self._backend.support(tool) if tool is not None else "never"
        if tool is None or support == "never":
            return await call_next(ctx)
        if not understands(ctx):
            if support == "required":
                raise not_understood()
            return await call_next(ctx)
        found: Task | Answer = await perform(tool, self._backend.start, ctx, params)
        if isinstance(found, Task):
            return {"resultType": "task", **found.summary()}
        return answer(found) if isinstance(found, dict) else found

    async def _get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        return (await self._known(context, params)).details()

    async def _update(self, context: Context, params: UpdateParams) -> dict[str, Any]:
        task = await self._known(context, params)
        if responses := _checked(task.requests, params.input_responses):
            await self._backend.update(task.id, responses)
        return {}

    async def _cancel(self, context: Context, params: TaskParams) -> dict[str, Any]:
        await self._backend.cancel((await self._known(context, params)).id)
        return {}

    async def _known(self, context: Context, params: TaskParams) -> Task:
        _check_name(context, params.task_id)
        if not understands(context):
            raise not_understood()
        task = await self._backend.get(params.task_id)
        if task is None:
            raise MCPError(
                types.INVALID_PARAMS, f"no task '{params.task_id}': it never was, or is no longer remembered"
            )
        return task


def _spoken(handler: RequestHandler) -> RequestHandler:
    """The handler, with expected errors turned into a protocol error."""

    async def handle(context: Context, params: Any) -> HandlerResult:
        try:
            return await handler(context, params)
        except expected_errors() as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error

    return handle


def understands(context: Context) -> bool:
    """Whether the client declared the extension in this request."""
    if context.protocol_version not in _VERSIONS:
        return False
    capabilities = context.session.client_capabilities
    return capabilities is not None and IDENTIFIER in (capabilities.extensions or {})


def not_understood() -> MCPError:
    """The error for a request that needs the extension."""
    return MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"this needs a client that declares the extension '{IDENTIFIER}'",
        {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}},
    )


def _check_name(context: Context, task_id: str) -> None:
    """Check that the routing header of an HTTP request names the same task as its body."""
    if context.request is None:
        return
    if decode_header_value(context.request.headers.get(MCP_NAME_HEADER)) != task_id:
        raise MCPError(types.HEADER_MISMATCH, f"the {MCP_NAME_HEADER} header does not name task '{task_id}'")


def _checked(
    requests: Mapping[str, types.InputRequest], given: Mapping[str, Any]
) -> dict[str, types.InputResponse]:
    """The valid responses to open requests; others are ignored, as the extension says."""
    responses: dict[str, types.InputResponse] = {}
    for key in given.keys() & requests.keys():
        method = requests[key].method
        try:
            responses[key] = _RESPONSES[method].validate_python(given[key], by_name=False)
        except ValidationError:
            raise MCPError(
                types.INVALID_PARAMS, f"the response '{key}' is none that '{method}' can have"
            ) from None
    return responses
