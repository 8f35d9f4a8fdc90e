"""A small server on real endpoints with clients for each, for the tests of the transports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from asking_client import interview
from longwire.counters import RuntimeCounters
from longwire.endpoints import Endpoint, Http, Open, Uds, open_endpoint
from longwire.guard.access import Access
from longwire.principals.limits import CallLimits
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.server.serve import Stop, serve
from longwire.settings import Settings, WireLimits
from longwire.wire.listeners import Address
from longwire.wire.serving import Serving

ERAS = ["legacy", "2026-07-28"]
LOCAL = Address("127.0.0.1", 0)
SECONDS = 30.0  # for what should take an instant; only a broken server takes longer


class Bench:
    """Tools that tests can look into."""

    def __init__(self) -> None:
        self.started = Signal()
        self.cancelled = Signal()
        self.release = anyio.Event()
        self.running = 0
        self.most = 0  # that ever ran at once

    def catalog(self) -> Catalog:
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        nothing = {"type": "object", "properties": {}}
        tools = [
            Tool("echo", "Echo", "Says it again.", text, self._echo),
            Tool("wait", "Wait", "Waits until it is released.", text, self._wait),
            Tool("turns", "Turns", "Lets others have many turns.", nothing, self._turns),
            Tool("steps", "Steps", "Tells of three steps.", nothing, self._steps),
            Tool("shout", "Shout", "Says a lot that nobody asked for.", nothing, self._shout),
            Tool("interview", "Interview", "Asks the client.", nothing, interview),
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
        return {"waited": call.arguments.get("text", True)}

    async def _turns(self, _: Call) -> Answer:
        for _turn in range(200):
            await anyio.lowlevel.checkpoint()
        return {"turns": 200}

    async def _steps(self, call: Call) -> Answer:
        for step in (1, 2, 3):
            await call.progress(step, 3, f"step {step}")
        return {"steps": 3}

    async def _shout(self, call: Call) -> Answer:
        params = {"level": "info", "data": "x" * 500_000}
        for _ in range(40):
            message = types.LoggingMessageNotification(
                params=types.LoggingMessageNotificationParams(**params)
            )
            await call.context.session.send_notification(message)
        return {"shouted": True}


def streamable_app(server: Server[Any], limits: WireLimits | None = None) -> Serving:
    """Streamable HTTP with nothing around it but the checks for an address of this machine."""
    return Serving(server, limits or Settings().wire_limits(), {}, Access(names=frozenset({"a"})))


@asynccontextmanager
async def served(app: Serving, limits: WireLimits | None = None) -> AsyncIterator[Served]:
    """The server on a port of this machine."""
    if limits is not None:
        app = replace(app, limits=limits)
    async with open_endpoint(Http(LOCAL), app) as opened:
        yield Served(opened[0].where.removeprefix("http://").removesuffix("/mcp"))


@dataclass(frozen=True)
class Served:
    """Where a server is."""

    address: str


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


@dataclass
class Running:
    """A server in this process."""

    bench: Bench
    server: Server[Any]
    limits: CallLimits
    counters: RuntimeCounters
    stop: Stop = field(default_factory=Stop)
    opened: Sequence[Open] = ()
    over: anyio.Event = field(default_factory=anyio.Event)

    @property
    def where(self) -> str:
        return self.opened[0].where

    def client(self, era: str, *, index: int = 0, **options: Any) -> Client:
        return Client(transport_to(self.opened[index]), mode=era, **options)


@asynccontextmanager
async def serving(
    *endpoints: Endpoint,
    settings: Settings | None = None,
    access: Access | None = None,
    bench: Bench | None = None,
    on_stop: Callable[[float], Coroutine[Any, Any, None]] | None = None,
    prepare: Callable[[Server[Any]], None] = lambda _: None,
) -> AsyncIterator[Running]:
    """Serve the bench's tools until the block ends."""
    settings = settings or Settings(grace=0.2)
    bench = bench or Bench()
    limits = CallLimits(settings)
    counters = RuntimeCounters()
    asking = AskingRules(settings.capability_policy, settings.client_timeout, counters.count_request)
    server = build_server(bench.catalog(), name="bench", version="1", middleware=[limits], asking=asking)
    prepare(server)
    running = Running(bench, server, limits, counters)
    ready = anyio.Event()

    def on_ready(opened: Sequence[Open]) -> None:
        running.opened = opened
        ready.set()

    async def go() -> None:
        await serve(
            server,
            endpoints,
            settings,
            access=access,
            limits=limits,
            on_stop=on_stop,
            on_ready=on_ready,
            counters=counters,
            stop=running.stop,
        )
        running.over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go)
        await ready.wait()
        try:
            yield running
        finally:
            running.stop.request()


def transport_to(opened: Open) -> AbstractAsyncContextManager[Any]:
    """The official client's transport to an endpoint; for Unix sockets, one of our own."""
    if opened.transport == "uds":
        return uds_client(Path(opened.where))
    if opened.transport == "sse":
        return sse_client(opened.where)
    return streamable_http_client(opened.where)


@asynccontextmanager
async def uds_client(path: Path) -> AsyncIterator[Any]:
    """Message streams over a Unix socket."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive(socket: anyio.abc.SocketStream) -> None:
        buffer = b""
        async with incoming:
            async for data in socket:
                *lines, buffer = (buffer + data).split(b"\n")
                for line in lines:
                    await incoming.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))

    async def send(socket: anyio.abc.SocketStream) -> None:
        async for item in outgoing:
            await socket.send(
                item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            )

    async with await anyio.connect_unix(str(path)) as socket, anyio.create_task_group() as tasks:
        tasks.start_soon(receive, socket)
        tasks.start_soon(send, socket)
        yield read, write
        tasks.cancel_scope.cancel()


# Endpoints by the name of their transport, each in a folder of its own.
ENDPOINTS: dict[str, Callable[[Path], Endpoint]] = {
    "uds": lambda folder: Uds(folder / "s"),
    "sse": lambda _: Http(LOCAL, frozenset({"sse"})),
    "http": lambda _: Http(LOCAL),
}
