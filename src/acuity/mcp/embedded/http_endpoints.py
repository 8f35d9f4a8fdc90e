"""The ports of an embedded server, on 127.0.0.1 only: event streams at a path, Streamable HTTP at /mcp."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.lowlevel import Server
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.cors import LoopbackPages
from acuity.mcp.embedded.fast import FastAnswers
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.embedded.quick_posts import Answer, QuickPosts, QuickRoute, quick_protocol
from acuity.mcp.embedded.sse import SseFront, StreamSession, session_of
from acuity.mcp.embedded.streamable_front import PATH, StreamableFront
from acuity.mcp.wire.address import LOOPBACK, Address
from acuity.mcp.wire.http import HttpEndpoint, serve_http
from acuity.mcp.wire.http_app import HttpApp, Methods
from acuity.mcp.wire.security import Guarded, HttpSecurity
from acuity.mcp.wire.tokens import Tokens

_SHORT: Final = 4096  # bytes; a call without arguments has no more
_WRONG_HOST: Final = f"use its address, {LOOPBACK}"


@dataclass(frozen=True, slots=True)
class Served:
    """What is served at a port, and to whom."""

    server: Server[Any]
    fast: FastAnswers | None
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
    fast, posting = served.fast, f"{path.rpartition('/')[0]}/request"
    front = SseFront(served.server, path, posting, served.limits, served.lifespan_state)

    def route(target: str, headers: Headers) -> Answer | None:
        place, _, query = target.partition("?")
        if place not in (path, posting) or fast is None:
            return None
        named = session_of(query, headers)
        if named is None:
            return fast.answer
        session = front.session(named)
        return _onto(session, front, fast) if session is not None else None

    app = HttpApp({"/": served.health(path), posting: Methods(front, ("POST",)), path: front})
    async with _port(app, served, port, path, route, listener) as opened:
        yield opened


def _onto(session: StreamSession, front: SseFront, fast: FastAnswers) -> Answer:
    """Answers on a stream, as long as that is open."""

    def answer(body: bytes, _: Agreed) -> bytes | None:
        if front.session(session.id) is not session:
            return None
        found = fast.answer(body, session.agreed, session.in_flight)
        return b"" if found is not None and session.stream.offer(found) else None

    return answer


@asynccontextmanager
async def http_endpoint(
    served: Served, *, port: int, listener: socket.socket | None = None
) -> AsyncIterator[HttpFront]:
    """Serve Streamable HTTP until the block ends. Raises SettingsError."""
    front = StreamableFront(served.server, served.fast, served.limits, served.lifespan_state)
    app = HttpApp({"/": served.health(PATH), PATH: front}, front.run)
    async with _port(app, served, port, PATH, front.route, listener) as opened:
        yield opened


@asynccontextmanager
async def _port(
    app: ASGIApp, served: Served, port: int, path: str, route: QuickRoute, listener: socket.socket | None
) -> AsyncIterator[HttpFront]:
    limits, security = served.limits, HttpSecurity(served.tokens, wrong_host=_WRONG_HOST)
    posts = QuickPosts(route, security, min(limits.line, _SHORT))
    async with serve_http(
        Guarded(LoopbackPages(app), security),
        LOOPBACK,
        port,
        connections=limits.connections,
        protocol=lambda half_open: quick_protocol(posts, served.presence, half_open, limits),
        listener=listener,
    ) as endpoint:
        yield HttpFront(endpoint, path)
