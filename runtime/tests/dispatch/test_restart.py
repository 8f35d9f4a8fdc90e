"""Sessions and streams across kill -9: nothing lost, nothing doubled, calls that died answered.

The clients are raw HTTP and the official Python client; those in TypeScript are in conformance/.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from raw_http import Event, RawSession, call, events, http_client, open_session
from restarts import Restarts, restarts

LOST = {"code": -32603, "message": "the server restarted before this call ended: call again"}
SOON = 20.0  # seconds, after which a test gives up


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restarts]:
    """The same port and file for all tests: each has sessions of its own."""
    with restarts(tmp_path_factory.mktemp("store")) as server:
        yield server


def counting(upto: int, *, stay: bool, number: int = 1) -> dict[str, Any]:
    request = call(number, "count", upto=upto, stay=stay)
    request["params"]["_meta"] = {"progressToken": "t"}
    return request


def numbers(found: list[dict[str, Any]], method: str, logger: str | None = None) -> list[int]:
    """The numbers that were said in this way."""
    key = "progress" if method == "notifications/progress" else "data"
    params = [message["params"] for message in found if message.get("method") == method]
    return [int(said[key]) for said in params if said.get("logger") == logger]


def progress(found: list[dict[str, Any]]) -> list[int]:
    return numbers(found, "notifications/progress")


async def take(stream: AsyncIterator[Event], most: int) -> tuple[list[dict[str, Any]], str]:
    """Some messages, and the id of the last event."""
    found: list[dict[str, Any]] = []
    last = ""
    async for event in stream:
        last = event.id or last
        if event.message:
            found.append(event.message)
            if len(found) == most:
                break
    return found, last


async def rest(stream: AsyncIterator[Event]) -> list[dict[str, Any]]:
    """All messages up to the end of the stream."""
    return [event.message async for event in stream if event.message]


@asynccontextmanager
async def raw(server: Restarts) -> AsyncIterator[RawSession]:
    url = server.start()
    with anyio.fail_after(SOON):
        async with http_client() as http:
            yield await open_session(url, http)


# ---- raw HTTP -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [1, 40])
async def test_a_killed_call_continues_where_it_was_and_ends_with_an_error(
    server: Restarts, read: int
) -> None:
    async with raw(server) as session:
        async with session.stream(counting(60, stay=True)) as stream:
            found, last = await take(stream, read)
            server.kill()
        server.start()
        async with session.resume(last) as stream:
            found += await rest(stream)
        said = progress(found)
        assert said == list(range(1, len(said) + 1))
        said = numbers(found, "notifications/message", "call")
        assert said == list(range(1, len(said) + 1))
        assert found[-1] == {"jsonrpc": "2.0", "id": 1, "error": LOST}
        assert sum("error" in message for message in found) == 1


async def test_a_server_that_stops_in_order_tells_its_clients_when_to_come_back(server: Restarts) -> None:
    """SIGTERM: both streams end with a time, and go on where they were."""
    async with raw(server) as session:
        get = session.http.stream("GET", session.url, headers=session.headers)
        async with get as response, session.stream(counting(30, stay=True)) as stream:
            gets, calls = [events(response), stream]
            (said, last), (counted, last_of_call) = await take(gets, 8), await take(calls, 10)
            server.stop()
            more, rest_of_call = [[event async for event in each] for each in (gets, calls)]
        server.start()
        for seen in (more, rest_of_call):
            assert seen[-1].retry is not None
            assert 2000 <= int(seen[-1].retry) <= 4000
            assert not seen[-1].message
        last = next((event.id for event in reversed(more) if event.id), last)
        last_of_call = next((event.id for event in reversed(rest_of_call) if event.id), last_of_call)
        counted += [event.message for event in rest_of_call if event.message]
        said += [event.message for event in more if event.message]
        async with session.resume(last_of_call) as stream:
            counted += await rest(stream)
        for found in (progress(counted), numbers(counted, "notifications/message", "call")):
            assert found == list(range(1, len(found) + 1))
        assert counted[-1]["error"] == LOST
        await session.post(call(2, "say", text="777"))
        async with session.resume(last) as stream:
            async for event in stream:
                said += [event.message] if event.message else []
                if said and said[-1]["params"]["data"] == "777":
                    break
        heard = numbers(said, "notifications/message", "session")
        assert heard == [*range(1, len(heard)), 777]


# ---- the official client --------------------------------------------------------------------------------


class Listener:
    """The official client's callbacks, which note what they are told."""

    def __init__(self) -> None:
        self.progress: list[int] = []
        self.logs: dict[str | None, list[int]] = {"call": [], "session": []}
        self.enough = anyio.Event()

    async def told(self, done: float, total: float | None, message: str | None) -> None:
        assert message == f"progress {done:g}"
        self.progress.append(int(done))
        if len(self.progress) == 8:
            self.enough.set()

    async def logged(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs[params.logger].append(int(params.data))


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("end", [Restarts.kill, Restarts.stop])
async def test_the_official_client_resumes_by_itself(
    server: Restarts, end: Callable[[Restarts], None]
) -> None:
    """It notices that the connections end, comes back with the last ids, and its caller gets the error."""
    heard = Listener()

    async def kill_when_enough() -> None:
        await heard.enough.wait()
        await anyio.to_thread.run_sync(end, server)
        await anyio.to_thread.run_sync(server.start)

    async def talk(session: ClientSession) -> None:
        hello = await session.initialize()
        assert hello.protocol_version == "2025-11-25"
        await session.set_logging_level("warning")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill_when_enough)
            with pytest.raises(MCPError, match="the server restarted before this call ended"):
                await session.call_tool("count", {"upto": 30, "stay": True}, progress_callback=heard.told)
        found = await session.call_tool("recall", {})
        assert found.structured_content == {"version": "2025-11-25", "client": "mcp", "level": "warning"}
        ended = await session.call_tool("count", {"upto": 2, "stay": False})
        assert ended.structured_content == {"counted": 2}

    with anyio.fail_after(SOON):
        async with (
            streamable_http_client(server.start()) as (read, write),
            ClientSession(read, write, logging_callback=heard.logged) as session,
        ):
            await talk(session)
    assert len(heard.progress) >= 8
    said = list(range(1, len(heard.progress) + 1))
    assert heard.progress == said
    # The last of the first call may have been said as progress alone when the server was killed.
    assert heard.logs["call"] in ([*said, 1, 2], [*said[:-1], 1, 2])
