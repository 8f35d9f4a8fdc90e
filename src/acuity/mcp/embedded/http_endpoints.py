"""The ports of an embedded server, on 127.0.0.1 only: event streams at a path, Streamable HTTP at /mcp."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.lowlevel import Server
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.embedded.cors import LoopbackPages
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.embedded.sse import SseFront
from acuity.mcp.embedded.streamable_front import PATH, StreamableFront
from acuity.mcp.wire.address import LOOPBACK, Address
from acuity.mcp.wire.http import HttpEndpoint, serve_http
from acuity.mcp.wire.http_app import HttpApp, Methods
from acuity.mcp.wire.http_protocol import HalfOpen, protocol_with
from acuity.mcp.wire.security import Guarded, HttpSecurity
from acuity.mcp.wire.tokens import Tokens

_WRONG_HOST: Final = f"use its address, {LOOPBACK}"


@dataclass(frozen=True, slots=True)
class Served:
    """What is served at a port, and to whom."""

    server: Server[Any]
    quick: QuickAnswers
    limits: FrontLimits
    lifespan_state: Any
    presence: Presence
    tokens: Tokens
    measurement: Callable[[], dict[str, Any]]

    def health(self, path: str) -> ASGIApp:
        """Answers at `/` that the server is there, and where to speak to it."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            about = {"status": "ok", "server": self.server.server_info_stamp, "endpoint": path}
            found = JSONResponse({**about, "measurement": self.measurement()})
            await found(scope, receive, send)

        return Methods(answer, ("GET", "HEAD"))


class HttpFront:
    """A port that is being served."""

    def __init__(self, endpoint: HttpEndpoint, path: str) -> None:
        self.address: Address = endpoint.address  # with the port that was chosen
        self.url = f"http://{endpoint.address}{path}"


@asynccontextmanager
async def sse_endpoint(
    served: Served, *, port: int, path: str, listener: socket.socket | None = None
) -> AsyncIterator[HttpFront]:
    """Serve event streams until the block ends. Raises SettingsError."""
    posting = f"{path.rpartition('/')[0]}/request"
    front = SseFront(served.server, served.quick, path, posting, served.limits, served.lifespan_state)

    app = HttpApp({"/": served.health(path), posting: Methods(front, ("POST",)), path: front})
    async with _port(app, served, port, path, listener) as opened:
        yield opened


@asynccontextmanager
async def http_endpoint(
    served: Served, *, port: int, listener: socket.socket | None = None
) -> AsyncIterator[HttpFront]:
    """Serve Streamable HTTP until the block ends. Raises SettingsError."""
    front = StreamableFront(served.server, served.quick, served.limits, served.lifespan_state)
    app = HttpApp({"/": served.health(PATH), PATH: front}, front.run)
    async with _port(app, served, port, PATH, listener) as opened:
        yield opened


@asynccontextmanager
async def _port(
    app: ASGIApp, served: Served, port: int, path: str, listener: socket.socket | None
) -> AsyncIterator[HttpFront]:
    security = HttpSecurity(served.tokens, wrong_host=_WRONG_HOST)
    async with serve_http(
        Guarded(LoopbackPages(app), security),
        LOOPBACK,
        port,
        connections=served.limits.connections,
        protocol=lambda half_open: _counted(served.presence, half_open, served.limits),
        listener=listener,
    ) as endpoint:
        yield HttpFront(endpoint, path)


def _counted(presence: Presence, half_open: HalfOpen, limits: FrontLimits) -> type[asyncio.Protocol]:
    """The class of connections that tell the presence when they come, send and leave."""
    base = protocol_with(half_open, limits.write_timeout, limits.read_timeout)

    class Counted(base):  # type: ignore[misc, valid-type]  # a class made at run time
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            presence.came(self)

        def connection_lost(self, exc: Exception | None) -> None:
            presence.left(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            presence.heard(self)
            super().data_received(data)

    return Counted
