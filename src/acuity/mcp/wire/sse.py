"""HTTP+SSE, as clients of protocol version 2024-11-05 speak it: a stream at /sse, messages to /messages/."""

from __future__ import annotations

import logging
from typing import Any, Final
from uuid import UUID

from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.limits import CONNECTION, ORIGIN, Full, Quota, address_origin
from acuity.mcp.settings import Settings
from acuity.mcp.wire.connection import Answers, InFlight, Requests, serve_messages
from acuity.mcp.wire.http_app import Methods
from acuity.mcp.wire.http_body import CheckedBody

logger: Final = logging.getLogger(__name__)

PATH: Final = "/sse"
_MESSAGES: Final = "/messages/"
_FULL: Final[dict[Full, str]] = {
    "each": "too many clients of this address or token are connected already: disconnect one",
    "all": "too many clients are connected already: try again later",
}


def sse_paths(server: Server[Any], settings: Settings, lifespan_state: Any) -> dict[str, ASGIApp]:
    """The two endpoints of the transport."""
    transport = SseServerTransport(_MESSAGES, max_request_body_size=settings.body)
    places = Quota(settings.connections, settings.connections_each)
    streams = _Streams(server, transport, places, lifespan_state)
    messages = CheckedBody(_named(transport.handle_post_message), settings.body)
    return {PATH: Methods(streams, ["GET"]), _MESSAGES: messages}


class _Streams:
    """Serves a connection for as long as its event stream is open."""

    def __init__(
        self, server: Server[Any], transport: SseServerTransport, places: Quota, lifespan_state: Any
    ) -> None:
        self._server = server
        self._transport = transport
        self._places = places
        self._lifespan_state = lifespan_state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = ORIGIN.get() or address_origin(scope)
        full = self._places.full(origin)
        if full is not None:
            await Response(_FULL[full], status_code=503, headers={"Retry-After": "5"})(scope, receive, send)
            return
        self._places.take(origin)
        try:
            async with self._transport.connect_sse(scope, receive, send) as (read, write):
                in_flight = InFlight()
                await serve_messages(
                    self._server,
                    Requests(read, write, in_flight),
                    Answers(write, in_flight),
                    name="sse",
                    lifespan_state=self._lifespan_state,
                )
        finally:
            self._places.give_back(origin)


def _named(app: ASGIApp) -> ASGIApp:
    """The application, with each message known to come through the connection that it names."""

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        session = QueryParams(scope.get("query_string", b"")).get("session_id", "")
        before = CONNECTION.set(f"sse:{_canonical(session)}")
        try:
            await app(scope, receive, send)
        finally:
            CONNECTION.reset(before)

    return named


def _canonical(session_id: str) -> str:
    """The one spelling of a session's id: the SDK takes many, and a client isn't another for each."""
    try:
        return UUID(hex=session_id).hex
    except ValueError:
        return "unknown"
