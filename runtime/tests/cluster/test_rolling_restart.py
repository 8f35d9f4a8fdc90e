"""Two nodes behind nginx, with the example's own configuration, restarted one after the other under load.

Clients that resume lose no message and get none twice, and no call of theirs fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import mcp_types as types
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from cluster_nodes import ClusterNodes, Node, cluster_nodes, needs_nginx
from raw_http import RawSession, call, events, http_client, open_session
from redis_server import needs_redis

SOON = 60.0  # seconds, after which the test gives up
EACH = 6  # messages of each client between two restarts
CLIENTS = 4

pytestmark = [
    needs_redis,
    needs_nginx,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


class Client:
    """Says numbers, one call each, and hears them on its event stream; `say` returns what went wrong."""

    def __init__(self) -> None:
        self.said = 0
        self.heard: list[int] = []
        self.problems: list[str] = []
        self.changed = anyio.Event()

    async def talk(self, session: Any, most: list[int]) -> None:
        while self.said < most[0]:
            if problem := await self.say(session, str(self.said)):
                self.problems.append(problem)
            else:
                self.said += 1
            await anyio.sleep(0.02)

    def hear(self, number: int) -> None:
        self.heard.append(number)
        self.changed.set()
        self.changed = anyio.Event()

    async def heard_up_to(self, number: int) -> None:
        while len(self.heard) < number:
            await self.changed.wait()


class RawClient(Client):
    """One that takes the answers as they are, and resumes its stream as it is told to."""

    resumed = 0
    told: int | None = None  # milliseconds to wait

    async def listen(self, session: RawSession) -> None:
        headers = dict(session.headers)
        while True:
            async with session.http.stream("GET", session.url, headers=headers) as response:
                if response.status_code != 200:
                    self.problems.append(f"GET: {response.status_code}")
                else:
                    async for event in events(response):
                        headers |= {"Last-Event-ID": event.id} if event.id else {}
                        self.told = int(event.retry) if event.retry else self.told
                        if event.message:
                            self.hear(int(event.message["params"]["data"]))
            self.resumed += 1
            await anyio.sleep((self.told or 0) / 1000)

    async def say(self, session: RawSession, text: str) -> str | None:
        answer = await session.post(call(self.said, "say", text=text))
        fine = answer.status_code == 200 and "result" in answer.json()
        return None if fine else f"POST: {answer.status_code} {answer.text}"


class OfficialClient(Client):
    async def logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self.hear(int(params.data))

    async def say(self, session: ClientSession, text: str) -> str | None:
        try:
            await session.call_tool("say", {"text": text})
        except MCPError as error:
            return str(error)
        return None


@asynccontextmanager
async def official(url: str, client: OfficialClient) -> AsyncIterator[ClientSession]:
    async with (
        streamable_http_client(url) as (read, write),
        ClientSession(read, write, logging_callback=client.logged) as session,
    ):
        await session.initialize()
        yield session


def roll(node: Node) -> None:
    """SIGTERM, and another process in its place."""
    node.stop()
    node.start()


async def test_a_rolling_restart_loses_nothing() -> None:
    clients: list[Any] = [*(RawClient() for _ in range(CLIENTS)), OfficialClient()]
    most = [10**9]

    async def in_flight(nodes: ClusterNodes, http: httpx2.AsyncClient, label: str) -> None:
        """Restart a node that has a call to end. Other calls of its sessions wait meanwhile."""
        raw = await open_session(nodes[label].url, http)
        raw.url = nodes.front
        counting = call(1, "count", upto=150, stay=False)
        counting["params"]["_meta"] = {"progressToken": "t"}
        messages: list[dict[str, Any]] = []
        async with raw.stream(counting) as stream, anyio.create_task_group() as tasks:
            async for event in stream:
                if event.message and not messages:
                    tasks.start_soon(anyio.to_thread.run_sync, roll, nodes[label])
                messages += [event.message] if event.message else []
        said = [found["params"]["progress"] for found in messages if "progress" in found.get("params", {})]
        assert said == list(range(1, 151))
        assert messages[-1]["result"]["structuredContent"] == {"counted": 150}

    async def load(nodes: ClusterNodes, http: httpx2.AsyncClient, session: ClientSession) -> None:
        async with anyio.create_task_group() as listening:
            async with anyio.create_task_group() as talking:
                talking.start_soon(clients[-1].talk, session, most)
                for client in clients[:-1]:
                    raw = await open_session(nodes.front, http)
                    listening.start_soon(client.listen, raw)
                    talking.start_soon(client.talk, raw, most)
                for label in ("n1", "n2"):
                    for client in clients:
                        await client.heard_up_to(len(client.heard) + EACH)
                    await in_flight(nodes, http, label)
                for client in clients:
                    await client.heard_up_to(len(client.heard) + EACH)
                most[0] = 0
            for client in clients:
                await client.heard_up_to(client.said)
            listening.cancel_scope.cancel()

    with cluster_nodes(grace=5.0) as nodes:
        nodes.start_all()
        nodes.start_nginx()
        with anyio.fail_after(SOON):
            async with http_client() as http, official(nodes.front, clients[-1]) as session:
                await load(nodes, http, session)
    for client in clients:
        assert client.problems == []
        assert client.heard == list(range(client.said))
        assert client.said >= 3 * EACH
    assert sum(client.resumed for client in clients[:-1]) >= CLIENTS
