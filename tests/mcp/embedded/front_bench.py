"""A small server behind every front, clients for each, and messages as each way of speaking words them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types

from acuity.mcp.app import build_server
from acuity.mcp.catalog import Answer, Call, Catalog, Tool
from acuity.mcp.embedded.front import Front
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.quick import QuickAnswers

STATUS = {
    "model": "vmaf_v0.6.1",
    "features": ["adm", "motion", "vif"],
    "frames": {"read": 100, "scored": 98, "pending": 2},
    "fps": 33.25,
    "last": {"frame": 97, "score": 93.12345678901234},
    "queue": {"depth": 64, "used": 0},
    "paused": False,
    "reference": 'grüße \u2028 "quoted".yuv',
    "nothing": None,
    "tiny": 1.25e-7,
    "infinite": float("inf"),
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SECONDS = 30.0  # for what should take an instant; only a broken server takes longer
WAYS = ["handshake", "envelope", "bare"]
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def hello(number: Any = "hello", version: str = "2025-11-25") -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: Any, method: str, way: str = "bare", **params: Any) -> dict[str, Any]:
    if way == "envelope":
        params["_meta"] = {**META, **params.get("_meta", {})}
    return {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}


def call(number: Any, tool: str = "echo", way: str = "bare", **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", way, name=tool, arguments=arguments)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine, and fail rather than hang."""

    async def limited() -> None:
        with anyio.fail_after(SECONDS):
            await test()

    anyio.run(limited)


class Signal:
    """Something that happens, maybe several times, and can be waited for."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = anyio.Event()

    def add(self) -> None:
        self.count += 1
        self._changed.set()
        self._changed = anyio.Event()

    async def reaches(self, count: int = 1) -> None:
        while self.count < count:
            await self._changed.wait()


class Measured:
    """Tools that tests can look into; the answer of one of them can be had quickly."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = dict(STATUS)
        self.quick = 0  # answers without the SDK
        self.slow = 0
        self.started = Signal()
        self.cancelled = Signal()
        self.release = anyio.Event()
        self.running = self.most = 0

    def catalog(self) -> Catalog:
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        tools = [
            Tool("vmaf.status", "Status", "Where it stands.", NOTHING, self._status),
            Tool("echo", "Echo", "Says it again.", text, self._echo),
            Tool("wait", "Wait", "Waits until it is released.", text, self._wait),
            Tool("steps", "Steps", "Tells of three steps.", NOTHING, self._steps),
            Tool("shout", "Shout", "Says a lot that nobody asked for.", NOTHING, self._shout),
        ]
        return Catalog(tools=tools)

    async def _echo(self, call: Call) -> Answer:
        return {"text": call.arguments.get("text", ""), "client": call.client}

    async def _wait(self, call: Call) -> Answer:
        self.running += 1
        self.most = max(self.most, self.running)
        self.started.add()
        try:
            await self.release.wait()
        except BaseException:
            self.cancelled.add()
            raise
        finally:
            self.running -= 1
        return {"waited": call.arguments.get("text", "")}

    async def _steps(self, call: Call) -> Answer:
        for step in (1, 2, 3):
            await call.progress(step, 3, f"step {step}")
        return {"steps": 3}

    async def _shout(self, call: Call) -> Answer:
        params = types.LoggingMessageNotificationParams(level="info", data="x" * 100_000)
        for _ in range(100):
            message = types.LoggingMessageNotification(params=params)
            await call.context.session.send_notification(message)
        return {"shouted": True}

    def quick_status(self) -> dict[str, Any]:
        self.quick += 1
        return self.document

    async def _status(self, _: Call) -> Answer:
        self.slow += 1
        return self.document


@asynccontextmanager
async def fronted(
    bench: Measured, limits: FrontLimits | None = None, *, fast: bool = True
) -> AsyncIterator[Front]:
    server = build_server(bench.catalog(), name="bench", version="1")
    quick = QuickAnswers(server, {"vmaf.status": bench.quick_status} if fast else {})
    async with Front(server, quick, limits or FrontLimits()) as front:
        yield front


class Lines:
    """A client's end of a socket, with a message for each line."""

    def __init__(self, socket: anyio.abc.SocketStream) -> None:
        self.socket = socket
        self._buffer = b""

    async def send(self, *messages: Any) -> None:
        await self.socket.send(b"".join(_line(message) for message in messages))

    async def line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._buffer += await self.socket.receive()
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    async def receive(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.line())
        return found

    async def ask(self, message: Any) -> dict[str, Any]:
        await self.send(message)
        return await self.receive()

    async def error(self) -> tuple[int, Any, str]:
        answer = await self.receive()
        return answer["error"]["code"], answer["id"], answer["error"]["message"]

    async def closed(self) -> bool:
        """Wait for the end; whether nothing came before it."""
        rest = self._buffer
        try:
            while True:
                rest += await self.socket.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return not rest


def _line(message: Any) -> bytes:
    return (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"


@asynccontextmanager
async def lines_to(path: Path) -> AsyncIterator[Lines]:
    async with await anyio.connect_unix(str(path)) as socket:
        yield Lines(socket)


@asynccontextmanager
async def at_socket(
    folder: Path, limits: FrontLimits | None = None, *, fast: bool = True
) -> AsyncIterator[tuple[Measured, Lines]]:
    """A server at a Unix socket, and one client."""
    bench = Measured()
    async with (
        fronted(bench, limits, fast=fast) as front,
        front.uds(folder / "s"),
        lines_to(folder / "s") as client,
    ):
        yield bench, client


def structured(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["result"]["structuredContent"]
    return found
