"""A worker whose every frame a test writes, and the runtime's core in front of it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server

from core_bench import ALICE, CoreClient, Timers, call, reply_of
from fake_responder import FakeResponder
from longwire.contract.frames import FrameDecoder, FrameError, decode
from longwire.contract.writing import encode
from longwire.counters import RuntimeCounters
from longwire.dispatch.core import Core
from longwire.dispatch.streamable import Streamable
from longwire.guard.access import Access
from longwire.journal.stores import open_journal
from longwire.principals.limits import CallLimits
from longwire.product.asking import AskingRules
from longwire.product.calls import NamesBadParams
from longwire.sessions.registry import Sessions
from longwire.settings import Settings, WireLimits
from longwire.wire.serving import Serving
from longwire.workers.dispatch import WorkerDispatch
from longwire.workers.home import WorkerPlan
from longwire.workers.pool import WorkerPool
from raw_http import HELLO
from waiting import until

Frame = dict[str, Any]
Script = Callable[["Wire", Frame], None]
HELLO_BACK = {"mode": "mcp", "event": "hello", "contract": 1, "name": "scripted", "max_in_flight": 8}


def result(call_id: str, reply: Any, **more: Any) -> Frame:
    """The last frame of a call."""
    return {"mode": "mcp", "event": "result", "id": call_id, "handled": True, "jsonrpc": reply, **more}


def replied(frame: Frame, outcome: Any = None, **more: Any) -> Frame:
    """The frame that answers a call with a result."""
    if "id" not in frame["jsonrpc"]:
        return result(frame["id"], None, **more)
    reply = {"jsonrpc": "2.0", "id": frame["jsonrpc"]["id"], "result": outcome or _result(frame)}
    return result(frame["id"], reply, **more)


def message(data: Any) -> Frame:
    return {"type": "jsonrpc", "data": {"jsonrpc": "2.0", **data}}


def sent(frame: Frame, *messages: Any) -> Frame:
    """A frame with messages to the client while a call runs."""
    told = [message(data) for data in messages]
    return {"mode": "mcp", "event": "messages", "id": frame["id"], "messages": told}


def _result(frame: Frame) -> Frame:
    method, params = frame["jsonrpc"]["method"], frame["jsonrpc"].get("params", {})
    if method == "initialize":
        info = {"name": "scripted", "version": "1"}
        return {"protocolVersion": frame["protocol_version"], "capabilities": {}, "serverInfo": info}
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri} for uri in ("x://open/1", "x://secret")]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "read"}]}
    if method == "tools/list":
        names = ("echo", "secret")
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    return {"content": [], "isError": False, "structuredContent": {"name": params.get("name")}}


def answering(wire: Wire, frame: Frame) -> None:
    """The script of a worker that does as it should."""
    if frame["event"] == "message":
        wire.send(replied(frame))
    elif frame["event"] == "ping":
        wire.send({"mode": "mcp", "event": "pong", "id": frame["id"]})


def silent(wire: Wire, frame: Frame) -> None:
    """The script of one in an endless loop, or that does one thing at a time: it answers nothing."""


def holding(wire: Wire, frame: Frame) -> None:
    """The script of one that reads on, and answers no call."""
    if frame["event"] == "ping":
        answering(wire, frame)


def on_calls(script: Script, **events: Script) -> Script:
    """The script of a worker that does as it should but for calls of tools and these events."""

    def run(wire: Wire, frame: Frame) -> None:
        is_call = frame["event"] == "message" and frame["jsonrpc"]["method"] == "tools/call"
        (script if is_call else events.get(frame["event"], answering))(wire, frame)

    return run


class Wire(asyncio.Protocol):
    """One connection of the runtime to the worker."""

    def __init__(self, worker: ScriptedWorker) -> None:
        self._worker = worker
        self._decoder = FrameDecoder()
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._worker.connections += 1
        self._worker.wires.append(self)

    def data_received(self, data: bytes) -> None:
        try:
            frames = [decode(text) for text in self._decoder.texts(data)]
        except FrameError:
            self.transport.abort()
            return
        for frame in frames:
            self._worker.frames.append(frame)
            if frame["event"] == "hello":
                if self._worker.hello is not None:
                    self.send(self._worker.hello)
            else:
                self._worker.wire = self
                self._worker.script(self, frame)

    def send(self, frame: Frame | bytes) -> None:
        self.transport.write(frame if isinstance(frame, bytes) else encode(frame))


class ScriptedWorker:
    """A worker at a socket of its own, with what it was sent."""

    def __init__(self, script: Script = answering, hello: Frame | None = HELLO_BACK) -> None:
        self.script = script
        self.hello = hello
        self.frames: list[Frame] = []
        self.connections = 0
        self.wires: list[Wire] = []
        self.wire: Any = None  # the Wire that the last frame came from

    def calls(self, method: str = "tools/call") -> list[Frame]:
        return [f for f in self.frames if f["event"] == "message" and f["jsonrpc"]["method"] == method]

    def events(self, name: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["event"] == name]


class WorkerClient(CoreClient):
    """A client of the core whose handshake a worker answers."""

    async def connected(
        self, version: str = "2025-11-25", capabilities: Mapping[str, Any] | None = None
    ) -> WorkerClient:
        """Another client, with a session of its own."""
        hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
        hello["params"]["capabilities"] = dict(capabilities or {})
        answer = await self.answered(hello)
        assert answer.status == 200, answer.body
        other = WorkerClient(self.core, self.principal)
        session_id = answer.headers[b"mcp-session-id"].decode()
        other.headers |= {"mcp-session-id": session_id, "mcp-protocol-version": version}
        assert other.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return other

    async def answered(self, message: Any, headers: Mapping[str, str | None] | None = None) -> FakeResponder:
        answer = self.post(message, headers)
        await until(lambda: answer.gone)
        return answer

    async def alone(self, message: Any) -> FakeResponder:
        """The answer to a request without a session."""
        answer = self.stateless(message)
        await until(lambda: answer.gone)
        return answer


class WorkerCore:
    """A core whose methods are in workers."""

    def __init__(
        self,
        plan: WorkerPlan,
        limits: WireLimits,
        store: str = "memory",
        worker: ScriptedWorker | None = None,
    ) -> None:
        self.worker = worker or ScriptedWorker()  # the first behind it
        self.counters = RuntimeCounters()
        self.limits = CallLimits(Settings())
        self.server: Server[Any] = Server("front", version="1")
        boundary = AskingRules().boundary("front")
        self.server.middleware[:] = [self.limits, boundary, NamesBadParams()]
        self.pool = WorkerPool(plan, self.counters.worker_events)
        journal = open_journal(store, ttl=60.0, counters=self.counters)
        self.sessions = Sessions(limits, journal, self.counters)
        self.dispatch = WorkerDispatch(
            self.server, self.pool, self.counters, self.sessions.notify_and_answer, limits.send_timeout
        )
        self.timers = Timers()
        serving = Serving(self.server, limits, {}, Access())
        core = Core(serving, self.counters, self.dispatch, self.timers.later)
        self.core = Streamable(core, self.sessions)
        self.client = WorkerClient(self.core, ALICE)

    async def called(self, number: int = 1) -> Frame:
        """The reply to a call without a session."""
        return reply_of(await self.client.alone(call(number, "echo")))


@asynccontextmanager
async def listening(*workers: ScriptedWorker) -> AsyncIterator[tuple[str, ...]]:
    """Sockets with workers behind them."""
    with tempfile.TemporaryDirectory() as folder:
        loop, paths, servers = asyncio.get_running_loop(), [], []
        for number, worker in enumerate(workers):
            paths.append(str(Path(folder) / f"{number}.sock"))
            servers.append(
                await loop.create_unix_server(lambda worker=worker: Wire(worker), paths[-1])  # type: ignore[misc]
            )
        try:
            yield tuple(paths)
        finally:
            for server in servers:
                server.close()


@asynccontextmanager
async def fronting(
    *workers: ScriptedWorker,
    ready: bool = True,
    limits: WireLimits | None = None,
    store: str = "memory",
    **plan: Any,
) -> AsyncIterator[WorkerCore]:
    """The core in front of these workers, which somebody else runs."""
    async with listening(*workers) as paths:
        front = WorkerCore(WorkerPlan(sockets=paths, **plan), limits or WireLimits(), store, workers[0])
        await front.pool.start()
        async with front.core.run():
            if ready:
                await until(lambda: all(status.state == "ready" for status in front.pool.statuses()))
            yield front
        assert not front.limits.in_flight
        front.sessions.journal.close()
