"""The tasks extension as clients meet it: through the SDK's client in both eras, and over plain HTTP."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClientExtension, advertise
from mcp.server.lowlevel import Server

from local_tasks import Ask, LocalTasks, LocalWork
from longwire.errors import LongwireError
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.tasks.extension import IDENTIFIER, Tasks
from task_client import MODERN, TaskClient, ask, begin, posted, until
from tool_results import sentence_of
from transport_bench import served, streamable_app

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "default": "nothing"}},
    "additionalProperties": False,
}
NAME = types.ElicitRequest(
    params=types.ElicitRequestFormParams(
        message="Your name?", requested_schema={"type": "object", "properties": {"name": {"type": "string"}}}
    )
)


class Ground:
    """A server whose tasks go on when a test lets them."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.tasks = LocalTasks(
            {
                "echo": LocalWork(self._echo),
                "slow": LocalWork(self._slow, required=True),
                "asking": LocalWork(self._asking, required=True),
                "refused": LocalWork(self._refused, required=True),
                "full": LocalWork(self._echo, first=self._full),
            },
            ttl=None,
        )
        names = ["plain", "echo", "slow", "asking", "refused", "full"]
        self.tools = [Tool(name, name, name, SCHEMA, self._run) for name in names]

    def server(self) -> Server[Any]:
        catalog = Catalog(tools=self.tools, extensions=[Tasks(self.tools, self.tasks)])
        return build_server(catalog, name="test", version="1")

    async def _run(self, call: Call) -> Answer:
        return {"word": call.arguments["word"]}

    async def _echo(self, call: Call, _: Ask) -> dict[str, Any]:
        return {"word": call.arguments["word"]}

    async def _slow(self, _: Call, __: Ask) -> dict[str, Any]:
        await self.gate.wait()
        return {"done": True}

    async def _asking(self, _: Call, ask: Ask) -> dict[str, Any]:
        given = await ask({"one": NAME, "two": NAME})
        return {key: response.content for key, response in given.items()}

    async def _refused(self, _: Call, __: Ask) -> dict[str, Any]:
        raise MCPError(types.INTERNAL_ERROR, "out of order")

    def _full(self, _: Call) -> Answer | None:
        raise LongwireError("64 jobs are waiting already: try again later")


@asynccontextmanager
async def playing(
    extensions: Sequence[ClientExtension] = (TaskClient(),), *, mode: str = MODERN
) -> AsyncIterator[tuple[Client, Ground]]:
    ground = Ground()
    async with Client(ground.server(), mode=mode, extensions=extensions) as client:
        yield client, ground


async def refused(asking: Awaitable[Any]) -> MCPError:
    with pytest.raises(MCPError) as error:
        await asking
    return error.value


async def test_the_extension_is_offered() -> None:
    async with playing(mode="auto") as (client, _):
        offered = client.session.server_capabilities
        assert offered is not None
        assert offered.extensions == {IDENTIFIER: {}}


async def test_a_call_becomes_a_task_with_the_same_result() -> None:
    async with playing() as (client, ground):
        created = await begin(client, "echo", {"word": "hello"})
        assert created.status == "working"
        assert created.ttl_ms is None
        await until(ground.tasks, created.task_id, "completed")
        task = await ask(client, "tasks/get", created.task_id)
        assert task["resultType"] == "complete"
        assert task["taskId"] == created.task_id
        assert task["createdAt"] == created.created_at <= task["lastUpdatedAt"]
        assert "ttlMs" in task
    async with playing([]) as (client, _):
        result = await client.call_tool("echo", {"word": "hello"})
    plain = result.model_dump(by_alias=True, exclude_none=True)
    del plain["_meta"]  # what every answer has, a task's too
    assert task["result"] == plain


@pytest.mark.parametrize(
    ("extensions", "mode", "tool"),
    [
        ([], MODERN, "echo"),
        ([], "legacy", "echo"),
        ([advertise(IDENTIFIER)], "legacy", "echo"),  # whose results know no tasks
        ([TaskClient()], MODERN, "plain"),
    ],
)
async def test_clients_that_cannot_have_tasks_and_calls_of_short_tools_get_results(
    extensions: list[ClientExtension], mode: str, tool: str
) -> None:
    async with playing(extensions, mode=mode) as (client, _):
        result = await client.call_tool(tool, {"word": "hello"})
        assert result.structured_content == {"word": "hello"}


@pytest.mark.parametrize("mode", [MODERN, "legacy"])
async def test_what_only_a_task_can_do_needs_the_extension(mode: str) -> None:
    async with playing([], mode=mode) as (client, _):
        error = await refused(client.call_tool("slow", {}))
        assert error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert error.error.data == {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("echo", {"word": 3}, "invalid word 3: should be of type string"),
        ("slow", {"other": 1}, "tool 'slow' has no argument 'other'; it takes: word"),
        ("full", {}, "64 jobs are waiting already: try again later"),
    ],
)
async def test_what_cannot_begin_is_refused_at_once(tool: str, arguments: dict[str, Any], error: str) -> None:
    async with playing() as (client, _):
        result = await client.call_tool(tool, arguments)
        assert sentence_of(result) == error


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
async def test_unknown_tasks_and_undeclared_clients(method: str) -> None:
    async with playing() as (client, _):
        error = await refused(ask(client, method, "nobody", inputResponses={}))
        assert error.code == types.INVALID_PARAMS
        assert "no task 'nobody'" in str(error)
    async with playing([]) as (client, _):
        error = await refused(ask(client, method, "nobody", inputResponses={}))
        assert error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/list"])
async def test_methods_of_other_versions_are_unknown(method: str) -> None:
    async with playing(mode="legacy" if method == "tasks/get" else MODERN) as (client, _):
        assert (await refused(ask(client, method, "x"))).code == types.METHOD_NOT_FOUND


async def test_a_task_is_cancelled_once() -> None:
    async with playing() as (client, _):
        created = await begin(client, "slow")
        for _ in range(2):
            acknowledged = await ask(client, "tasks/cancel", created.task_id)
            assert acknowledged.keys() == {"resultType", "_meta"}
        task = await ask(client, "tasks/get", created.task_id)
        assert task["status"] == "cancelled"
        assert not {"result", "error", "inputRequests"} & task.keys()


async def test_an_error_of_the_protocol_is_a_failed_task() -> None:
    async with playing() as (client, ground):
        created = await begin(client, "refused")
        await until(ground.tasks, created.task_id, "failed")
        task = await ask(client, "tasks/get", created.task_id)
        assert task["error"] == {"code": types.INTERNAL_ERROR, "message": "out of order"}
        assert "result" not in task


async def test_input_is_asked_for_and_given_in_parts() -> None:
    async with playing() as (client, ground):
        task_id = (await begin(client, "asking")).task_id
        await until(ground.tasks, task_id, "input_required")
        task = await ask(client, "tasks/get", task_id)
        assert task["inputRequests"].keys() == {"one", "two"}
        assert task["inputRequests"]["one"]["method"] == "elicitation/create"

        answer = {"action": "accept", "content": {"name": "Ada"}}
        await ask(client, "tasks/update", task_id, inputResponses={"never": {"x": 1}})
        error = await refused(ask(client, "tasks/update", task_id, inputResponses={"one": {"action": 3}}))
        assert error.code == types.INVALID_PARAMS
        assert "'one'" in str(error)
        await ask(client, "tasks/update", task_id, inputResponses={"one": answer})
        task = await ask(client, "tasks/get", task_id)
        assert (task["status"], task["inputRequests"].keys()) == ("input_required", {"two"})
        await ask(
            client, "tasks/update", task_id, inputResponses={"one": {"action": "decline"}, "two": answer}
        )
        await until(ground.tasks, task_id, "completed")
        task = await ask(client, "tasks/get", task_id)
        assert task["result"]["structuredContent"] == {"one": {"name": "Ada"}, "two": {"name": "Ada"}}


async def test_over_http() -> None:
    """The SDK's client names the task in a header, and a header that names another is refused."""
    ground = Ground()
    ground.gate.set()
    app = streamable_app(ground.server())
    async with served(app) as endpoint:
        url = f"http://{endpoint.address}/mcp"
        async with Client(url, mode=MODERN, extensions=[TaskClient()]) as client:
            created = await begin(client, "slow")
            await until(ground.tasks, created.task_id, "completed")
            task = await ask(client, "tasks/get", created.task_id)
            assert task["result"]["structuredContent"] == {"done": True}
            assert task["ttlMs"] is None
        task_id = created.task_id
        async with httpx2.AsyncClient() as http:
            for name, status, code in (
                (task_id, 200, None),
                (f"=?base64?{b64encode(task_id.encode()).decode()}?=", 200, None),
                ("another", 400, types.HEADER_MISMATCH),
                (None, 400, types.HEADER_MISMATCH),
            ):
                request = posted("tasks/get", taskId=task_id)
                request["headers"] |= {} if name is None else {"mcp-name": name}
                response = await http.post(url, **request)
                assert response.status_code == status, (name, response.text)
                assert response.json().get("error", {}).get("code") == code
            response = await http.post(url, **posted("tasks/result", taskId=task_id))
            assert (response.status_code, response.json()["error"]["code"]) == (404, types.METHOD_NOT_FOUND)
