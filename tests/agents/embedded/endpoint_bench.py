"""The bench of the embedded endpoints: a server with quick answers, clients, and messages of every kind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from acuity.agents.embedded.assembly import Endpoints, local_access
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.settings import WireLimits
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Serving, shared_lifespan
from raw_http import META
from transport_bench import Bench

STATUS = {
    "fps": 33.25,
    "last": {"frame": 97, "score": 93.12345678901234},
    "paused": False,
    "reference": 'grüße \u2028 "quoted".yuv',
    "nothing": None,
    "tiny": 1.25e-7,
    "infinite": float("inf"),
}
WAYS = ["handshake", "envelope", "bare"]
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def hello(number: Any = "hello", version: str = "2025-11-25") -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


def request(number: Any, method: str, way: str = "bare", **params: Any) -> dict[str, Any]:
    if way == "envelope":
        params["_meta"] = {**META, **params.get("_meta", {})}
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def call(number: Any, tool: str = "echo", way: str = "bare", **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", way, name=tool, arguments=arguments)


class Measured(Bench):
    """The bench with a tool whose answer can be had quickly."""

    def __init__(self) -> None:
        super().__init__()
        self.quick = 0  # answers without the SDK
        self.slow = 0

    def catalog(self) -> Catalog:
        status = Tool("vmaf.status", "Status", "Where it stands.", NOTHING, self._status)
        return Catalog(tools=[status, *super().catalog().tools])

    def quick_status(self) -> dict[str, Any]:
        self.quick += 1
        return STATUS

    async def _status(self, _: Call) -> Answer:
        self.slow += 1
        return STATUS


@asynccontextmanager
async def opening(bench: Measured, *, fast: bool = True) -> AsyncIterator[Endpoints]:
    server = build_server(bench.catalog(), name="bench", version="1")
    quick = QuickAnswers(server, {"vmaf.status": bench.quick_status} if fast else {})
    async with shared_lifespan(server) as state:
        yield Endpoints(Serving(server, WireLimits(), state, local_access(), bare=True, quick=quick))


class Lines:
    """A client's end of a socket, with a message for each line."""

    def __init__(self, socket: anyio.abc.SocketStream) -> None:
        self.socket = socket
        self._buffer = b""

    async def send(self, *messages: Any) -> None:
        await self.socket.send(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._buffer += await self.socket.receive()
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    async def receive(self) -> dict[str, Any]:
        return json.loads(await self.line())

    async def ask(self, message: Any) -> dict[str, Any]:
        await self.send(message)
        return await self.receive()


@asynccontextmanager
async def lines_to(path: Path) -> AsyncIterator[Lines]:
    async with await anyio.connect_unix(str(path)) as socket:
        yield Lines(socket)


@asynccontextmanager
async def at_socket(folder: Path, *, fast: bool = True) -> AsyncIterator[tuple[Measured, Lines]]:
    """A server at a Unix socket, and one client."""
    bench, path = Measured(), folder / "s"
    async with opening(bench, fast=fast) as endpoints, endpoints.uds(path), lines_to(path) as client:
        yield bench, client


def structured(answer: dict[str, Any]) -> dict[str, Any]:
    return answer["result"]["structuredContent"]
