"""Streams of change notifications: tasks beside what the SDK's own handler knows, and their bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ToolsListChanged

from local_tasks import Ask, LocalTasks, LocalWork
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.tasks.extension import Tasks
from longwire.tasks.listen import Listen
from task_client import MODERN, PATIENCE, TaskClient, ask, begin, posted, until
from transport_bench import served, streamable_app

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Ground:
    """A server with one tool, whose tasks end when the gate opens."""

    def __init__(self, **bounds: int) -> None:
        self.gate = asyncio.Event()
        self.bus = InMemorySubscriptionBus()
        self.tasks = LocalTasks({"slow": LocalWork(self._slow)})
        self.listen = Listen(self.bus, self.tasks, **bounds)
        tools = [Tool("slow", "Slow", "Waits.", {"type": "object"}, self._run)]
        catalog = Catalog(tools=tools, extensions=[Tasks(tools, self.tasks)], listen=self.listen)
        self.server = build_server(catalog, name="test", version="1")
        self.url = ""

    async def _run(self, _: Call) -> Answer:
        return {}

    async def _slow(self, _: Call, __: Ask) -> dict[str, Any]:
        await self.gate.wait()
        return {"done": True}

    def client(self) -> Client:
        return Client(self.url, mode=MODERN, extensions=[TaskClient()])

    @asynccontextmanager
    async def stream(
        self, *, declared: bool = True, identity: str = "listen-1", **asked: Any
    ) -> AsyncIterator[Frames]:
        """A stream as it comes over HTTP."""
        request = posted("subscriptions/listen", identity, declared=declared, notifications=asked)
        async with (
            httpx2.AsyncClient(timeout=PATIENCE) as http,
            http.stream("POST", self.url, **request) as response,
        ):
            yield Frames(response)


class Frames:
    """The messages of one answer, one by one."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            async for line in self._lines:
                if line.startswith(("data: ", "{")):
                    message: dict[str, Any] = json.loads(line.removeprefix("data: "))
                    return message
        raise EOFError


@asynccontextmanager
async def ground_served(**bounds: int) -> AsyncIterator[Ground]:
    ground = Ground(**bounds)
    async with served(streamable_app(ground.server)) as endpoint:
        ground.url = f"http://{endpoint.address}/mcp"
        yield ground


async def test_a_task_is_told_as_it_changes() -> None:
    async with ground_served() as ground, ground.client() as client:
        task_id = (await begin(client, "slow")).task_id
        async with ground.stream(taskIds=[task_id, "nobody", task_id]) as frames:
            acknowledged = await frames.next()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == {"taskIds": [task_id]}
            first = await frames.next()
            assert first["method"] == "notifications/tasks"
            assert (first["params"]["taskId"], first["params"]["status"]) == (task_id, "working")
            ground.gate.set()
            last = (await frames.next())["params"]
            assert last.pop("_meta") == {SUBSCRIPTION: "listen-1"}
            task = await ask(client, "tasks/get", task_id)
            assert last == {key: task[key] for key in task.keys() - {"_meta", "resultType"}}
            assert last["result"]["structuredContent"] == {"done": True}


async def test_a_task_that_was_over_before_is_told_too() -> None:
    async with ground_served() as ground:
        ground.gate.set()
        async with ground.client() as client:
            task_id = (await begin(client, "slow")).task_id
        await until(ground.tasks, task_id, "completed")
        async with ground.stream(taskIds=[task_id]) as frames:
            await frames.next()
            assert (await frames.next())["params"]["status"] == "completed"


async def test_lists_and_resources_are_told_to_those_who_asked() -> None:
    async with (
        ground_served() as ground,
        ground.stream(declared=False, resourceSubscriptions=["a://b"]) as frames,
    ):
        acknowledged = await frames.next()
        assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": ["a://b"]}
        await ground.bus.publish(ToolsListChanged())
        await ground.bus.publish(ResourceUpdated(uri="a://other"))
        await ground.bus.publish(ResourceUpdated(uri="a://b"))
        told = await frames.next()
        assert told["method"] == "notifications/resources/updated"
        assert told["params"] == {"uri": "a://b", "_meta": {SUBSCRIPTION: "listen-1"}}


@pytest.mark.parametrize("over_http", [True, False])
async def test_the_sdks_client_understands_it(over_http: bool) -> None:
    async with ground_served() as ground:
        server = ground.url if over_http else ground.server
        async with Client(server, mode=MODERN) as client, client.listen(tools_list_changed=True) as events:
            await ground.bus.publish(ToolsListChanged())
            with anyio.fail_after(PATIENCE):
                assert await anext(events) == ToolsListChanged()
                ground.listen.close()
                assert [event async for event in events] == []


@pytest.mark.parametrize(
    ("declared", "asked", "code"),
    [
        (False, {"taskIds": ["x"]}, types.MISSING_REQUIRED_CLIENT_CAPABILITY),
        (True, {"taskIds": "x"}, types.INVALID_PARAMS),
        (True, {"taskIds": [1]}, types.INVALID_PARAMS),
        (True, {"taskIds": ["a", "b"], "resourceSubscriptions": ["a://a", "a://b"]}, types.INVALID_PARAMS),
    ],
)
async def test_what_cannot_be_listened_to_is_refused(
    declared: bool, asked: dict[str, Any], code: int
) -> None:
    async with ground_served(most_names=3) as ground, ground.stream(declared=declared, **asked) as frames:
        assert (await frames.next())["error"]["code"] == code


async def test_streams_are_bounded_and_end_with_their_client() -> None:
    async with ground_served(most_streams=1) as ground:
        async with ground.stream(toolsListChanged=True) as frames:
            await frames.next()
            async with ground.stream(toolsListChanged=True, identity="listen-2") as more:
                error = (await more.next())["error"]
                assert error["code"] == types.INTERNAL_ERROR
                assert "too many subscriptions" in error["message"]
        with anyio.fail_after(PATIENCE):
            await ground.tasks.left.wait()
        async with ground.stream(toolsListChanged=True) as frames:
            assert (await frames.next())["method"] == "notifications/subscriptions/acknowledged"


async def test_a_client_that_does_not_read_costs_no_memory() -> None:
    """A thousand changes while nothing is read: each kind waits once."""
    bus = InMemorySubscriptionBus()
    listen = Listen(bus)
    reading = asyncio.Event()
    sent: list[str] = []

    async def send(notification: Any, _: object) -> None:
        sent.append(notification.method)
        await reading.wait()

    context: Any = SimpleNamespace(request_id=1, session=SimpleNamespace(send_notification=send))
    asked = types.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=["a://b"])
    params = types.SubscriptionsListenRequestParams(notifications=asked)
    async with asyncio.TaskGroup() as group:
        group.create_task(listen(context, params))
        while not sent:
            await asyncio.sleep(0)
        for _ in range(1000):
            await bus.publish(ToolsListChanged())
            await bus.publish(ResourceUpdated(uri="a://b"))
        reading.set()
        listen.close()
    assert sent == [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]


async def test_a_request_needs_an_id() -> None:
    context: Any = SimpleNamespace(request_id=None)
    params = types.SubscriptionsListenRequestParams(notifications=types.SubscriptionFilter())
    with pytest.raises(MCPError, match="needs a request id"):
        await Listen(InMemorySubscriptionBus())(context, params)
