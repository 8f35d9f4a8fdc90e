"""An ASGI application on a port, run inside the server's own event loop."""

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

from acuity.mcp.limits import Quota
from acuity.mcp.settings import WireLimits
from acuity.mcp.wire.address import Address, bind, bound
from acuity.mcp.wire.http_protocol import HalfOpen, connection_class
from acuity.mcp.wire.serving import IGNORED, Presence

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
        """Let what is nearly answered be answered, and end what is left."""
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
