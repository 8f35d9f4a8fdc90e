"""An ASGI application on a port, run by uvicorn inside the server's own event loop.

Its connections have more deadlines than uvicorn's: a client that stops reading would stall its session for
good, and one that never finishes its request would keep its place. Connections that have not sent a whole
request head are half open: their number is bounded, the oldest make room for new ones, and clients with
requests don't notice. The head and the body of an answer are written together.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# h11, not httptools: that one leaves blanks at the end of header values, which then differ from the body's.
from uvicorn.protocols.http.h11_impl import H11Protocol

from acuity.mcp.limits import Quota
from acuity.mcp.settings import WireLimits
from acuity.mcp.wire.listeners import Address, bind, bound
from acuity.mcp.wire.serving import IGNORED, Presence

_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n"
    b"retry-after: 5\r\nconnection: close\r\n\r\n"
    b"too many connections of this address are open: close some\n"
)
HEAD_TIMEOUT: Final = 10.0  # seconds for the first request's head
_GRACE: Final = 0.25  # seconds in which a new connection's head is surely read, if it was sent
_KEEP_ALIVE: Final = 30  # seconds that a connection without a request stays open
_FLUSH: Final = 0.5  # seconds for the last answers to be written
_CLOSING: Final = 1  # seconds for connections to go once their requests have ended


class HttpEndpoint:
    """An application that is being served."""

    def __init__(
        self, address: Address, server: uvicorn.Server, app: _Stoppable, half_open: HalfOpen
    ) -> None:
        self.address = address  # with the port that was chosen
        self._server = server
        self._app = app
        self._half_open = half_open

    def close(self) -> None:
        """Take no more connections; those there are go on."""
        for listener in self._server.servers:
            listener.close()

    async def stop(self) -> None:
        """Give POSTs a moment to be answered, then end all requests."""
        self.close()
        self._half_open.close()
        with anyio.move_on_after(_FLUSH, shield=True):
            await self._app.posts_answered()
        self._app.stop()
        self._server.should_exit = True


@asynccontextmanager
async def serve_http(
    app: ASGIApp,
    address: Address,
    limits: WireLimits,
    *,
    presence: Presence = IGNORED,
    listener: socket.socket | None = None,
) -> AsyncIterator[HttpEndpoint]:
    """Serve an application until the block ends; raises SettingsError where the address can't be used.

    `presence` is told about connections; a `listener` is bound to the address already.
    """
    listener = listener or bind(address)
    stoppable, half_open = _Stoppable(app), HalfOpen(limits.max_connections)
    most = 4 * limits.max_connections  # a session may have a stream open beside its requests
    # Where all clients are on this machine they have one address, and no limit of one address.
    places = Quota(most, sys.maxsize if limits.max_connections_each is None else most // 2)
    config = uvicorn.Config(
        stoppable,
        http=connection_class(limits, half_open, places, presence),
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # a client's address is not for others to claim
        limit_concurrency=most,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_CLOSING,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.serve(sockets=[listener]))
        try:
            await server.wait_started(running)
            endpoint = HttpEndpoint(bound(listener), server, stoppable, half_open)
            yield endpoint
        finally:
            if server.started:
                await endpoint.stop()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([running])


class _Server(uvicorn.Server):
    """uvicorn's server: signals are the whole program's business, and it says when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._up = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        self._up.set()

    async def wait_started(self, running: asyncio.Task[None]) -> None:
        up = asyncio.create_task(self._up.wait())
        await asyncio.wait([up, running], return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if running.done():
            await running
            raise RuntimeError("the HTTP server ended before it began")


class _Stoppable:
    """An application whose requests can be ended from outside, each with a proper end of its answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: dict[anyio.CancelScope, str] = {}  # with its method
        self._ended = anyio.Event()

    def stop(self) -> None:
        for scope in self._running:
            scope.cancel()

    async def posts_answered(self) -> None:
        """Wait for requests that have an end of their own; event streams have none."""
        while "POST" in self._running.values():
            self._ended = anyio.Event()
            await self._ended.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        with anyio.CancelScope() as cancel:
            self._running[cancel] = scope["method"]
            try:
                await self._app(scope, receive, answer)
            finally:
                del self._running[cancel]
                self._ended.set()
        if cancel.cancelled_caught:
            await answer.end()


class _Answer:
    """An ASGI `send` that knows how far the answer is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Say that the server is going away, as far as that can still be said."""
        if not self._begun:
            await self._send(
                {"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]}
            )
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class HalfOpen:
    """The connections of one endpoint that have not sent a whole request head, oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[asyncio.Protocol, asyncio.Transport] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, connection: object) -> bool:
        return connection in self._waiting

    def add(self, connection: asyncio.Protocol, transport: asyncio.Transport) -> None:
        self._waiting[connection] = transport
        # Not at once: connections are accepted by the dozen, and the heads that came with them are read next.
        if len(self._waiting) > self._most and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GRACE, self._drop_oldest)

    def discard(self, connection: asyncio.Protocol) -> None:
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Drop all of them."""
        if self._timer is not None:
            self._timer.cancel()
        for transport in list(self._waiting.values()):
            transport.abort()

    def _drop_oldest(self) -> None:
        self._timer = None
        for connection in list(self._waiting)[: max(len(self._waiting) - self._most, 0)]:
            self._waiting.pop(connection).abort()


def connection_class(
    limits: WireLimits, half_open: HalfOpen, places: Quota, presence: Presence
) -> type[H11Protocol]:
    """The class of an endpoint's connections.

    `places` is how many there may be, in all and of one address: a connection takes its place before it has
    said anything, so a few clients that say nothing could otherwise take every one.
    """

    class Connection(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._request = _Deadline(limits.read_timeout)
            self._head = _Deadline(min(HEAD_TIMEOUT, limits.read_timeout))
            self._write = _Deadline(limits.write_timeout)
            self._holder = ""  # of a place
            self._turned_away = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            peer = transport.get_extra_info("peername")
            self._holder = str(peer[0]) if isinstance(peer, tuple) else "unknown"
            if places.full(self._holder) == "each":  # uvicorn itself counts them all
                self._turned_away = True
                transport.write(_TOO_MANY)
                transport.close()
                return
            places.take(self._holder)
            presence.came(self)
            super().connection_made(_Together(transport))
            self.connections.discard(self)  # uvicorn's limit is for those with requests
            half_open.add(self, transport)
            self._head.begin(transport)
            self._request.begin(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._turned_away:
                return
            places.give_back(self._holder)
            presence.left(self)
            half_open.discard(self)
            self._head.end()
            self._request.end()
            self._write.end()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._turned_away:
                return
            presence.heard(self)
            super().data_received(data)
            if self.cycle is not None and self in half_open:  # the head of its first request was read
                half_open.discard(self)
                self._head.end()
                self.connections.add(self)
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                self._request.begin(self.transport)  # the next request has begun, or this one is incomplete
            else:
                self._request.end()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._write.end()

    return Connection


class _Together(asyncio.Transport):
    """A transport that joins all writes of one turn of the event loop."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self._inner = inner
        self._pending: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append(bytes(data))

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def _flush(self) -> None:
        if self._pending:
            data, self._pending = b"".join(self._pending), []
            self._inner.write(data)

    def abort(self) -> None:
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)


class _Deadline:
    """Drops a connection unless something ends in time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        if self._timer is None:
            # Not close(), which waits until everything is written.
            self._timer = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
