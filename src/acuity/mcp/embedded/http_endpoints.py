"""The ports of an embedded server, on 127.0.0.1 only: event streams at a path, Streamable HTTP at /mcp."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.lowlevel import Server
from starlette.datastructures import Headers
from starlette.types import ASGIApp

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.cors import LoopbackPages
from acuity.mcp.embedded.fast import FastAnswers
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.quick_posts import Answer, QuickPosts, QuickRoute, quick_protocol
from acuity.mcp.embedded.sse import SseFront, StreamSession, session_of
from acuity.mcp.embedded.streamable_front import PATH, StreamableFront
from acuity.mcp.transports.address import LOOPBACK, Address
from acuity.mcp.transports.http import HttpEndpoint, serve_http
from acuity.mcp.transports.http_app import HttpApp
from acuity.mcp.transports.security import Guarded, HttpSecurity

_SHORT: Final = 4096  # bytes; a call without arguments has no more
_SECURITY: Final = HttpSecurity()  # this machine's own names and addresses


class HttpFront:
    """A port that is being served."""

    def __init__(self, endpoint: HttpEndpoint, path: str) -> None:
        self.address: Address = endpoint.address  # with the port that was chosen
        self.url = f"http://{endpoint.address}{path}"


@asynccontextmanager
async def sse_endpoint(
    server: Server[Any],
    fast: FastAnswers | None,
    limits: FrontLimits,
    lifespan_state: Any,
    *,
    port: int,
    path: str,
) -> AsyncIterator[HttpFront]:
    """Serve event streams until the block ends. Raises SettingsError."""
    front = SseFront(server, path, limits, lifespan_state)

    def route(target: str, headers: Headers) -> Answer | None:
        place, _, query = target.partition("?")
        if place != path or fast is None:
            return None
        named = session_of(query, headers)
        if named is None:
            return fast.answer
        session = front.session(named)
        return _onto(session, front, fast) if session is not None else None

    async with _port(HttpApp({path: front}), port, path, route, limits) as opened:
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
    server: Server[Any], fast: FastAnswers | None, limits: FrontLimits, lifespan_state: Any, *, port: int
) -> AsyncIterator[HttpFront]:
    """Serve Streamable HTTP until the block ends. Raises SettingsError."""
    front = StreamableFront(server, fast, limits, lifespan_state)
    app = HttpApp({PATH: front}, front.run)
    async with _port(app, port, PATH, front.route, limits) as opened:
        yield opened


@asynccontextmanager
async def _port(
    app: ASGIApp, port: int, path: str, route: QuickRoute, limits: FrontLimits
) -> AsyncIterator[HttpFront]:
    posts = QuickPosts(route, _SECURITY, min(limits.line, _SHORT))
    async with serve_http(
        Guarded(LoopbackPages(app), _SECURITY),
        LOOPBACK,
        port,
        connections=limits.connections,
        protocol=quick_protocol(posts, write_timeout=limits.write_timeout, read_timeout=limits.read_timeout),
    ) as endpoint:
        yield HttpFront(endpoint, path)
