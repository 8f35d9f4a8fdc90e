"""The official tasks extension: a client that declares it gets a task for a long call.

The server decides whether a call becomes a task; the client only declares that it supports tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.extension import Extension, MethodBinding, RequestHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from longwire.declared import expected_errors
from longwire.product.calls import perform
from longwire.product.catalog import Answer, Context, Tool
from longwire.product.results import answer
from longwire.tasks.task import Task, TaskBackend

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
