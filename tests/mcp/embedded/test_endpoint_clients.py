"""The official client on every transport, in both eras of the protocol."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from acuity.mcp.embedded.endpoints import Endpoints
from acuity.mcp.wire.framing import FRAMINGS, Fault, FramingName
from descriptor_client import Descriptors
from endpoint_bench import Measured, address_of, lines_to, opening
from transport_bench import run

ERAS = ["legacy", "2026-07-28", "auto"]


@asynccontextmanager
async def framed(stream: Descriptors, framing: FramingName) -> AsyncIterator[Any]:
    """Message streams for the client, over bytes."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    frames = FRAMINGS[framing](1 << 20)

    async def receive() -> None:
        async with incoming:
            while data := await stream.receive():
                for frame in frames.feed(data):
                    assert not isinstance(frame, Fault)
                    await incoming.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(frame)))

    async def send() -> None:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            await stream.send(frames.wrap(text))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        yield read, write
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_uds(endpoints: Endpoints, folder: Path) -> AsyncIterator[Any]:
    path = folder / "s"
    async with (
        endpoints.uds(path),
        lines_to(path) as client,
        framed(_Receiving(client.socket), "lines") as streams,
    ):
        yield streams


class _Receiving:
    """A socket whose end is an empty read."""

    def __init__(self, socket: anyio.abc.SocketStream) -> None:
        self._socket = socket

    async def receive(self) -> bytes:
        try:
            return await self._socket.receive()
        except anyio.EndOfStream:
            return b""

    async def send(self, data: bytes) -> None:
        await self._socket.send(data)


def over_pipes(framing: FramingName) -> Callable[[Endpoints, Path], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def connected(endpoints: Endpoints, _: Path) -> AsyncIterator[Any]:
        (theirs_read, write), (read, theirs_write) = os.pipe(), os.pipe()
        try:
            async with (
                endpoints.pair(theirs_read, theirs_write, framing, lambda: None),
                framed(Descriptors(read, write), framing) as streams,
            ):
                yield streams
        finally:
            for descriptor in (theirs_read, write, read, theirs_write):
                os.close(descriptor)

    return connected


@asynccontextmanager
async def over_sse(endpoints: Endpoints, _: Path) -> AsyncIterator[Any]:
    async with endpoints.sse(0, "/mcp/sse") as endpoint, sse_client(address_of(endpoint, "sse")) as streams:
        yield streams


@asynccontextmanager
async def over_http(endpoints: Endpoints, _: Path) -> AsyncIterator[Any]:
    async with endpoints.http(0) as endpoint, streamable_http_client(endpoint[0].where) as streams:
        yield streams


TRANSPORTS: dict[str, Callable[[Endpoints, Path], AbstractAsyncContextManager[Any]]] = {
    "uds": over_uds,
    "lines": over_pipes("lines"),
    "content-length": over_pipes("content-length"),
    "sse": over_sse,
    "http": over_http,
}
EACH = pytest.mark.parametrize("transport", list(TRANSPORTS))
ERA = pytest.mark.parametrize("era", ERAS)


@asynccontextmanager
async def client_of(
    transport: str, era: str, folder: Path, *, fast: bool = True
) -> AsyncIterator[tuple[Measured, Client]]:
    bench = Measured()
    async with (
        opening(bench, fast=fast) as endpoints,
        Client(TRANSPORTS[transport](endpoints, folder), mode=era) as client,
    ):
        yield bench, client


@EACH
@ERA
def test_quick_and_slow_results_are_the_same(transport: str, era: str, tmp_path: Path) -> None:
    async def main() -> None:
        results = []
        for fast in (True, False):
            async with client_of(transport, era, tmp_path, fast=fast) as (_, client):
                results.append((await client.call_tool("vmaf.status", {})).model_dump())
        assert results[0] == results[1]

    run(main)
