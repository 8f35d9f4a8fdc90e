"""The official client on every transport, in both eras of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from asking_client import ASKED, TOLD, Person
from longwire.settings import Settings
from transport_bench import ENDPOINTS, ERAS, Signal, serving

TRANSPORTS = pytest.mark.parametrize("transport", list(ENDPOINTS))
BOTH_ERAS = pytest.mark.parametrize("era", ERAS)


@TRANSPORTS
@BOTH_ERAS
async def test_calls_progress_and_questions(transport: str, era: str, tmp_path: Path) -> None:
    heard, person = [], Person()
    long = "0123456789" * 40_000  # sent twice, and clients take a megabyte at most

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with (
        serving(ENDPOINTS[transport](tmp_path)) as server,
        server.client(era, **person.callbacks) as client,
    ):
        assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
        for text in ("hä\n\u2028", long):
            said = await client.call_tool("echo", {"text": text})
            assert said.structured_content["text"] == text
        done = await client.call_tool("steps", progress_callback=progress)
        assert done.structured_content == {"steps": 3}
        assert (await client.call_tool("interview", {})).structured_content == TOLD
    assert person.asked == ASKED
    assert heard == [(step, 3, f"step {step}") for step in (1, 2, 3)]


@TRANSPORTS
@BOTH_ERAS
async def test_cancelling_a_call_stops_its_work(transport: str, era: str, tmp_path: Path) -> None:
    async with serving(ENDPOINTS[transport](tmp_path)) as server, server.client(era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "wait")
            await server.bench.started.reaches()
            tasks.cancel_scope.cancel()
        await server.bench.cancelled.reaches()
        assert (await client.call_tool("echo", {"text": "still there"})).is_error is False


@pytest.mark.parametrize(
    ("transport", "era"),
    # Not HTTP with sessions: there the client may come back for its result.
    [(transport, era) for transport in ENDPOINTS for era in ERAS if (transport, era) != ("http", "legacy")],
)
async def test_a_client_that_leaves_stops_its_work(transport: str, era: str, tmp_path: Path) -> None:
    async with serving(ENDPOINTS[transport](tmp_path)) as server:
        async with anyio.create_task_group() as tasks:

            async def stay() -> None:
                async with server.client(era) as client:
                    await client.call_tool("wait")

            tasks.start_soon(stay)
            await server.bench.started.reaches()
            tasks.cancel_scope.cancel()
        await server.bench.cancelled.reaches()
        await server.limits.idle()


@TRANSPORTS
@BOTH_ERAS
async def test_each_client_has_a_name(transport: str, era: str, tmp_path: Path) -> None:
    async with serving(ENDPOINTS[transport](tmp_path)) as server:
        names = []
        for _ in range(2):
            async with server.client(era) as client:
                said = await client.call_tool("echo")
                names.append(str(said.structured_content["client"]))
    kind = {"http": "session", "sse": "sse", "uds": "uds"}[transport]
    if transport == "http" and era != "legacy":
        assert names == ["address:127.0.0.1"] * 2  # without sessions that is all there is to know
    else:
        assert all(name.startswith(f"{kind}:") for name in names)
        assert names[0] != names[1]


@TRANSPORTS
async def test_many_calls_of_one_client_do_not_all_start(transport: str, tmp_path: Path) -> None:
    settings = Settings(calls_each=8, calls=100, grace=0.2)
    refused, done = Signal(), Signal()
    reasons: set[str] = set()
    async with serving(ENDPOINTS[transport](tmp_path), settings=settings) as server:
        async with server.client("legacy") as client, anyio.create_task_group() as tasks:

            async def call() -> None:
                try:
                    await client.call_tool("wait")
                except MCPError as error:
                    reasons.add(str(error))
                    refused.add()
                else:
                    done.add()

            for _ in range(12):
                tasks.start_soon(call)
            await refused.reaches(4)
            # It may still ask whether anybody is there.
            await client.session.send_request(types.PingRequest(), types.EmptyResult)
            server.bench.release.set()
        assert (server.bench.most, done.count, refused.count) == (8, 8, 4)
        assert reasons == {"8 requests of this client are in flight, which is the most: wait for one"}


@TRANSPORTS
@BOTH_ERAS
async def test_the_lifespan_is_entered_once_for_all(transport: str, era: str, tmp_path: Path) -> None:
    """The SDK would enter it for each connection of some transports, and once more for others."""
    entered, left = Signal(), Signal()

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[str]:
        entered.add()
        yield "shared"
        left.add()

    def prepare(server: Any) -> None:
        server.lifespan = lifespan

    async with serving(ENDPOINTS[transport](tmp_path), prepare=prepare) as server:
        for _ in range(2):
            async with server.client(era) as client:
                await client.call_tool("echo")
        assert (entered.count, left.count) == (1, 0)
    await left.reaches()
