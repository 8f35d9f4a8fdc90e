"""HTTP+SSE: a stream of events for each client, and POSTs that are answered on it.

GET opens a stream. Its `endpoint` event has the address for messages, and its `message` events are the
server's. That is the transport of protocol version 2024-11-05. Where bare requests are served, the stream
begins with a `ready` event, a POST may name its stream in the header X-MCP-Session, and one that names none
is answered in its reply.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final
from uuid import UUID, uuid4

import anyio
import pydantic_core
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acuity.mcp.limits import BUSY, ORIGIN, Full, Quota, address_origin, owner
from acuity.mcp.wire.events import HEADERS, EventStream, event
from acuity.mcp.wire.exchange import BareReplies
from acuity.mcp.wire.http_app import CheckedBody, Methods, checked_message, refusal
from acuity.mcp.wire.messages import Refused, encode
from acuity.mcp.wire.serving import HANDSHAKE, Handshake, Serving, serve_messages
from acuity.mcp.wire.streams import Inbox, InFlight, Outbox

logger: Final = logging.getLogger(__name__)

RETRY: Final = 1000  # milliseconds that a browser waits before it connects again
_SESSION: Final = "session_id"
_SESSION_HEADERS: Final = ("x-mcp-session", "mcp-session-id")
_FULL: Final[dict[Full, str]] = {
    "each": "too many clients of this address or token are connected already: disconnect one",
    "all": "too many clients are connected already: try again later",
}


class _Stream:
    """One client that has a stream open."""

    def __init__(self, max_events: int, *, numbered: bool) -> None:
        self.id = uuid4().hex
        self.owner = owner()  # the token that its messages have to come with, if any
        self.handshake = Handshake(f"sse:{self.id}")
        self.in_flight = InFlight()
        self.inbox = Inbox()
        self.events = EventStream(max_events, numbered=numbered)

    async def send(self, item: SessionMessage) -> None:
        await self.events.add(encode(item.message))

    async def close(self) -> None:
        self.events.end()


class SseApp:
    """The application for the streams and messages of all clients."""

    def __init__(self, serving: Serving, path: str, messages: str) -> None:
        """`path` is where streams are opened, `messages` where POSTs go."""
        self._serving = serving
        self._limits = limits = serving.limits
        self._path = path
        self._messages = messages
        # The streams' own path takes POSTs too where bare requests are served.
        self._target = path if serving.bare else messages
        self._open: dict[str, _Stream] = {}
        self._places = Quota(limits.max_connections, limits.max_connections_each or limits.max_connections)
        self._bare = BareReplies(serving) if serving.bare else None
        self._posts = CheckedBody(self._posted, limits.max_message)

    def paths(self) -> dict[str, ASGIApp]:
        """The application by path."""
        streams = Methods(self, ("GET", "POST")) if self._serving.bare else Methods(self, ("GET",))
        return {self._path: streams, self._messages: Methods(self, ("POST",))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._stream if scope["method"] == "GET" else self._posts)(scope, receive, send)

    # ---- streams ----------------------------------------------------------------------------

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = ORIGIN.get() or address_origin(scope)
        full = self._places.full(origin)
        if full is not None:
            await PlainTextResponse(f"{_FULL[full]}\n", 503, {"Retry-After": "5"})(scope, receive, send)
            return
        stream = _Stream(self._limits.max_events, numbered=self._serving.bare)
        self._places.take(origin)
        self._open[stream.id] = stream
        self._serving.accounts.enter(stream.handshake.client)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await send({"type": "http.response.body", "body": self._greeting(stream), "more_body": True})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._serve, stream)
                tasks.start_soon(self._watch, stream, receive, tasks.cancel_scope)
                await stream.events.write(send, self._limits.heartbeat)
                tasks.cancel_scope.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._forget(stream)
            self._places.give_back(origin)

    async def _watch(self, stream: _Stream, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._forget(stream)
        scope.cancel()

    def _forget(self, stream: _Stream) -> None:
        if self._open.pop(stream.id, None) is not None:
            self._serving.accounts.leave(stream.handshake.client)
        stream.events.end()

    def _greeting(self, stream: _Stream) -> bytes:
        """The first events of a stream."""
        address = f"{self._target}?{_SESSION}={stream.id}"
        endpoint = event(address.encode(), b"endpoint")
        if not self._serving.bare:
            return endpoint
        ready = {
            "server": self._serving.server.server_info_stamp,
            "protocolVersions": [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS],
            "endpoint": address,
            "session": stream.id,  # for the header X-MCP-Session
            "request": self._messages,
        }
        return b"retry: %d\n%b%b" % (RETRY, event(pydantic_core.to_json(ready), b"ready"), endpoint)

    async def _serve(self, stream: _Stream) -> None:
        outbox = Outbox(stream.send, stream.in_flight, stream.close)
        try:
            await serve_messages(self._serving, stream.inbox, outbox, stream.handshake)
        except Exception:  # other clients go on
            client = stream.handshake.client
            logger.exception("a connection failed", extra={"event": "connection_failed", "client": client})
            stream.events.end()

    # ---- messages ---------------------------------------------------------------------------

    async def _posted(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = self._session_of(scope)
        stream = self._open.get(_canonical(named)) if named is not None else None
        if stream is not None and stream.owner == owner():
            reply = await self._to_stream(stream, scope)
        elif named is None and self._bare is not None:
            await self._bare(scope, receive, send)
            return
        else:
            reply = self._no_stream(named)
        await reply(scope, receive, send)

    def _session_of(self, scope: Scope) -> str | None:
        """The id of the stream that a POST names."""
        named = QueryParams(scope.get("query_string", b"")).get(_SESSION)
        if named is not None or not self._serving.bare:
            return named
        headers = Headers(scope=scope)
        return next((headers[name] for name in _SESSION_HEADERS if name in headers), None)

    def _no_stream(self, named: str | None) -> Response:
        if named is None:
            return PlainTextResponse(f"{_SESSION} is required\n", 400)
        if not self._serving.bare and not _canonical(named):
            return PlainTextResponse("the session id is none\n", 400)
        where = f"open one with GET {self._path}"
        return PlainTextResponse(f"no stream is open for the session '{named[:64]}': {where}\n", 404)

    async def _to_stream(self, stream: _Stream, scope: Scope) -> Response:
        """Hand a message to the server, whose answer goes to the stream."""
        message = checked_message(scope)
        request = message if isinstance(message, JSONRPCRequest) else None
        quick = self._serving.quick.answer(message, stream.handshake, stream.in_flight)
        if quick is not None and stream.events.offer(quick):
            return Response("Accepted", 202)
        most = self._limits.max_in_flight
        if not self._serving.bare:  # clients of this transport look at the stream, not at the reply
            await stream.in_flight.fewer_than(most)
        elif max(len(stream.in_flight), len(stream.inbox)) >= most:
            reason = f"{most} requests of this client are in flight, which is the most: wait for one"
            return refusal(Refused(BUSY, reason, request.id if request else None), 429)
        try:
            noted = stream.in_flight.noted(message)
        except Refused as refused:
            if self._serving.bare:
                return refusal(refused)
            with suppress(anyio.BrokenResourceError):  # the client has just left
                await stream.events.add(encode(refused.answer()))
        else:
            stream.handshake.pending += request is not None and request.method == HANDSHAKE
            stream.inbox.put(noted)
        return Response("Accepted", 202)


def _canonical(session_id: str) -> str:
    """The one spelling of a session id; empty where it is none. A UUID may be written in several ways."""
    try:
        return UUID(hex=session_id).hex
    except ValueError:
        return ""
