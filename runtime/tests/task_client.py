"""A client for the tasks extension, based on the SDK's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import TypeAdapter

from longwire.tasks.extension import IDENTIFIER, TaskBackend

MODERN = "2026-07-28"
PATIENCE = 30.0  # seconds until a test gives up


class CreatedTask(types.Result):
    result_type: Literal["task"]
    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int | None = None


class TaskClient(ClientExtension):
    """Declares the extension; tests ask for tasks themselves."""

    identifier = IDENTIFIER

    def claims(self) -> Sequence[ResultClaim[Any]]:
        async def resolve(_: CreatedTask, __: ClaimContext) -> types.CallToolResult:
            raise AssertionError("tests take the task, not what comes of it")

        return [ResultClaim(result_type="task", model=CreatedTask, resolve=resolve)]


class TaskRequest(types.Request[dict[str, Any], str]):
    params: dict[str, Any]
    name_param = "taskId"


async def begin(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> CreatedTask:
    """Call a tool whose call becomes a task."""
    created = await client.session.call_tool(tool, arguments or {}, allow_claimed=True)
    assert isinstance(created, CreatedTask), created
    return created


def posted(method: str, number: Any = 1, *, declared: bool = True, **params: Any) -> dict[str, Any]:
    """A request of a client that declares the extension or not, as it is posted: its body and its headers."""
    capabilities = {"extensions": {IDENTIFIER: {}}} if declared else {}
    meta = {types.PROTOCOL_VERSION_META_KEY: MODERN, types.CLIENT_CAPABILITIES_META_KEY: capabilities}
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}}
    accept = "application/json, text/event-stream"
    headers = {"accept": accept, "mcp-protocol-version": MODERN, "mcp-method": method}
    return {"json": body, "headers": headers}


async def ask(client: Client, method: str, task_id: str, **params: Any) -> dict[str, Any]:
    request = TaskRequest(method=method, params={"taskId": task_id, **params})
    return await client.session.send_request(request, TypeAdapter(dict[str, Any]))


async def until(backend: TaskBackend, task_id: str, *statuses: str) -> None:
    """Wait for the task to have one of these statuses."""
    changed = asyncio.Event()
    undo = backend.on_change(lambda _: changed.set())
    try:
        with anyio.fail_after(PATIENCE):
            while (task := await backend.get(task_id)) is None or task.status not in statuses:
                await changed.wait()
                changed.clear()
    finally:
        undo()
