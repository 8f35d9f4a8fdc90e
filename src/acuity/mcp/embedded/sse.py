"""Event streams and POSTs at one path, for agents, browsers and curl.

GET opens a stream: `ready` first, then `endpoint`, the address for its messages, then `message` after
`message`. What is posted to that address is answered on the stream, and so is what is posted to the path
beside it that ends in `request`, with the session in X-MCP-Session; what is posted without a session is
answered in the reply. There may be any number of both.
"""

from __future__ import annotations

import itertools
import logging
from typing import Any, Final
from uuid import uuid4

import anyio
import pydantic_core
from mcp.server.lowlevel import Server
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.events import HEADERS, EventStream, StreamOutbox, event
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.inbox import Inbox
from acuity.mcp.embedded.inline import InlineReplies
from acuity.mcp.embedded.mixed import serve_mixed
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.limits import BUSY
from acuity.mcp.wire.connection import InFlight
from acuity.mcp.wire.http_body import CheckedBody, checked_message, refusal
from acuity.mcp.wire.messages import Refused

logger: Final = logging.getLogger(__name__)

RETRY: Final = 1000  # milliseconds that a browser waits before it connects again
_SESSION: Final = "session_id"
_SESSION_HEADERS: Final = ("x-mcp-session", "mcp-session-id")


class StreamSession:
    """One client that has a stream open."""

    def __init__(self, name: str, room: int) -> None:
        self.id = uuid4().hex
        self.name = name
        self.agreed = Agreed(client=name)
        self.in_flight = InFlight()
        self.inbox = Inbox()
        self.stream = EventStream(room)


class SseFront:
    """The application at that path."""

    def __init__(
        self,
        server: Server[Any],
        quick: QuickAnswers,
        path: str,
        posting: str,
        limits: FrontLimits,
        lifespan_state: Any,
    ) -> None:
        """`posting` is another path that takes messages, for clients that name their stream in a header."""
        self._server = server
        self._quick = quick
        self._path = path
        self._posting = posting
        self._limits = limits
        self._lifespan_state = lifespan_state
        self._numbers = itertools.count(1)
        self._open: dict[str, StreamSession] = {}
        self._inline = InlineReplies(server, quick, limits, lifespan_state)
        self._posts = CheckedBody(self._posted, limits.line)

    @property
    def clients(self) -> int:
        return len(self._open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            await self._stream(scope, receive, send)
        elif scope["method"] == "POST":
            await self._posts(scope, receive, send)
        else:
            refused = PlainTextResponse("use GET or POST\n", 405, {"Allow": "GET, POST, OPTIONS"})
            await refused(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._open) >= self._limits.connections:
            full = "too many clients are connected already: try again later\n"
            await PlainTextResponse(full, 503, {"Retry-After": "5"})(scope, receive, send)
            return
        session = StreamSession(f"sse:{next(self._numbers)}", self._limits.events)
        self._open[session.id] = session
        if self._limits.budget is not None:
            self._limits.budget.enter(session.name)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            hello = self._hello(session)
            await send({"type": "http.response.body", "body": hello, "more_body": True})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._serve, session)
                tasks.start_soon(self._watch, session, receive, tasks.cancel_scope)
                await session.stream.write(send, self._limits.heartbeat)
                tasks.cancel_scope.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._forget(session)

    async def _watch(self, session: StreamSession, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._forget(session)
        scope.cancel()

    def _forget(self, session: StreamSession) -> None:
        if self._open.pop(session.id, None) is not None and self._limits.budget is not None:
            self._limits.budget.leave(session.name)
        session.stream.end()

    def _hello(self, session: StreamSession) -> bytes:
        address = f"{self._path}?{_SESSION}={session.id}"
        ready = {
            "server": self._server.server_info_stamp,
            "protocolVersions": [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS],
            "endpoint": address,
            "session": session.id,  # for the header X-MCP-Session
            "request": self._posting,
        }
        first = event(pydantic_core.to_json(ready), b"ready")
        return b"retry: %d\n%b%b" % (RETRY, first, event(address.encode(), b"endpoint"))

    async def _serve(self, session: StreamSession) -> None:
        try:
            await serve_mixed(
                self._server,
                session.inbox,
                StreamOutbox(session.stream, session.in_flight),
                session.agreed,
                name=session.name,
                lifespan_state=self._lifespan_state,
            )
        except Exception:  # one client's trouble is not the others'
            logger.exception(
                "a connection failed", extra={"event": "connection_failed", "client": session.name}
            )
            session.stream.end()

    async def _posted(self, scope: Scope, receive: Receive, send: Send) -> None:
        number = _session_of(scope.get("query_string", b"").decode("latin-1"), Headers(scope=scope))
        if number is None:
            await self._inline(scope, receive, send)
            return
        session = self._open.get(number)
        if session is None:
            gone = f"no stream is open for the session '{number[:64]}': open one with GET {self._path}\n"
            await PlainTextResponse(gone, 404)(scope, receive, send)
            return
        await self._to_stream(session, scope)(scope, receive, send)

    def _to_stream(self, session: StreamSession, scope: Scope) -> Response:
        message = checked_message(scope)
        request = message if isinstance(message, JSONRPCRequest) else None
        quick = self._quick.answer(message, session.agreed, session.in_flight)
        if quick is not None and session.stream.offer(quick):
            return Response("Accepted", 202)
        if max(len(session.in_flight), len(session.inbox)) >= self._limits.requests:
            most = self._limits.requests
            reason = f"{most} requests of this client are in flight, which is the most: wait for one"
            return refusal(Refused(BUSY, reason, request.id if request else None), 429)
        try:
            noted = session.in_flight.noted(message)
        except Refused as refused:
            return refusal(refused)
        if request and request.method == "initialize":
            session.agreed.shaking += 1
        session.inbox.put(noted)
        return Response("Accepted", 202)


def _session_of(query: str, headers: Headers) -> str | None:
    """The stream that a POST belongs to."""
    named = QueryParams(query).get(_SESSION)
    if named is not None:
        return named
    return next((headers[name] for name in _SESSION_HEADERS if name in headers), None)
