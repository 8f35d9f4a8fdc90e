"""HTTP+SSE: a stream of events for each client, and POSTs that are answered on it.

GET opens a stream. Its `endpoint` event has the address for messages, and its `message` events are the
server's. That is the transport of protocol version 2024-11-05. Where bare requests are served, the stream
begins with a `ready` event, a POST may name its stream in the header X-MCP-Session, and one that names none
is answered in its reply. A stream has a queue for a slow reader.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qs
from uuid import UUID, uuid4

import anyio
import pydantic_core
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from longwire.principals.limits import BUSY, Full, Quota
from longwire.principals.principal import Holders, Principal
from longwire.settings import WireLimits
from longwire.wire.http.answers import TEXT
from longwire.wire.http.request import Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import answer_text, body_problem, for_methods
from longwire.wire.messages import Message, RefusedMessage, encode, parse
from longwire.wire.serving import HANDSHAKE, Handshake, Serving, serve_messages
from longwire.wire.streams import Inbox, InFlight, Outbox
from longwire.wire.tasks import RunningTasks

HEARTBEAT: Final = b": ping\n\n"


def event(data: bytes, kind: bytes = b"message", number: int | None = None) -> bytes:
    """An event. JSON as it is written here has no line ends of its own."""
    assert b"\n" not in data
    assert b"\r" not in data
    head = b"" if number is None else b"id: %d\n" % number
    return b"%bevent: %b\ndata: %b\n\n" % (head, kind, data)


logger: Final = logging.getLogger(__name__)

RETRY: Final = 1000  # milliseconds that a browser waits before it connects again
_SESSION: Final = "session_id"
_SESSION_HEADERS: Final = ("x-mcp-session", "mcp-session-id")
_LATER: Final[HeaderList] = [(b"retry-after", b"5")]
_FULL: Final[dict[Full, str]] = {
    "each": "too many clients of this address or token are connected already: disconnect one",
    "all": "too many clients are connected already: try again later",
}


class _Stream:
    """One client that has a stream open.

    Events that it doesn't take yet wait in a queue; when that is full, senders wait.
    """

    def __init__(
        self, principal: Principal, responder: Responder, limits: WireLimits, numbered: bool
    ) -> None:
        self.id = uuid4().hex
        self.principal = principal
        self.owner = _proven(principal)  # the principal whose messages it takes, if a token proves that
        self.handshake = Handshake(f"sse:{self.id}")
        self.in_flight = InFlight()
        self.inbox = Inbox()
        self.tasks = RunningTasks()  # the one that serves it, and POSTs that wait for their turn
        self._responder = responder
        self._limits = limits
        self._numbered = numbered
        self._waiting: deque[bytes] = deque()
        self._emptied = asyncio.Event()
        self._ended = False
        self._number = 0
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()  # when something was written
        self._timer = self._loop.call_later(limits.heartbeat, self._beat)
        responder.on_room(self._flush)

    def begin(self, greeting: bytes) -> None:
        self._responder.begin_events()
        self._responder.send(greeting)

    def offer(self, payload: bytes) -> bool:
        """Add a message if there is room for it."""
        if self._ended or len(self._waiting) >= self._limits.max_events:
            return False
        self._number += 1
        self._waiting.append(event(payload, number=self._number if self._numbered else None))
        if not self._responder.unsent:
            self._flush()
        return True

    async def add(self, payload: bytes) -> None:
        """Add a message as soon as there is room."""
        while not self.offer(payload):
            if self._ended:
                raise anyio.BrokenResourceError
            self._emptied.clear()
            await self._emptied.wait()

    def end(self) -> None:
        """Take no more events; those that wait are still written."""
        if self._ended:
            return
        self._ended = True
        self._timer.cancel()
        self._emptied.set()
        if not self._waiting:
            self._responder.end()

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._responder.send(b"".join(self._waiting))
        self._waiting.clear()
        self._last = self._loop.time()
        self._emptied.set()
        if self._ended:
            self._responder.end()

    def _beat(self) -> None:
        now = self._loop.time()
        if now - self._last >= self._limits.heartbeat:
            if not self._responder.unsent:  # a client that reads nothing needs no more
                self._responder.send(HEARTBEAT)
            self._last = now
        self._timer = self._loop.call_at(self._last + self._limits.heartbeat, self._beat)


class SseStreams:
    """The streams of all clients, and the messages that are posted to them."""

    def __init__(self, serving: Serving, path: str, messages: str, bare: Handler | None = None) -> None:
        """`path` is where streams are opened, `messages` where POSTs go.

        `bare` answers POSTs that name no stream.
        """
        self._serving = serving
        self._limits = limits = serving.limits
        self._path = path
        self._messages = messages
        self._bare = bare
        # The streams' own path takes POSTs too where bare requests are served.
        self._target = messages if bare is None else path
        self._open: dict[str, _Stream] = {}
        self._places = Quota(limits.max_connections, limits.max_connections_each or limits.max_connections)
        self._ending = RunningTasks()

    def paths(self) -> dict[str, Handler]:
        streams = ("GET",) if self._bare is None else ("GET", "POST")
        handle = self._serving.turns.handler(self.handle, self._serving.access.refused)
        return {self._path: for_methods(streams, handle), self._messages: for_methods(("POST",), handle)}

    def handle(self, request: Request, responder: Responder) -> None:
        try:
            (self._begin if request.method == "GET" else self._posted)(request, responder)
        except RefusedMessage as refused:
            responder.answer(*refused.answer)

    def end_gone(self, gone: Holders) -> None:
        """End the streams of principals whose tokens are no longer valid."""
        for stream in list(self._open.values()):
            if gone.include(stream.principal):
                self._forget(stream)

    async def close(self) -> None:
        for stream in list(self._open.values()):
            self._forget(stream)
        await self._ending.end()

    # ---- streams ----------------------------------------------------------------------------

    def _begin(self, request: Request, responder: Responder) -> None:
        origin = request.principal.key
        full = self._places.full(origin)
        if full is not None:
            answer_text(responder, 503, _FULL[full], _LATER)
            return
        stream = _Stream(request.principal, responder, self._limits, numbered=self._bare is not None)
        self._places.take(origin)
        self._open[stream.id] = stream
        self._serving.accounts.enter(stream.handshake.client)
        stream.begin(self._greeting(stream))
        stream.tasks.spawn(self._serve(stream))
        responder.on_gone(lambda: self._forget(stream))

    def _forget(self, stream: _Stream) -> None:
        if self._open.pop(stream.id, None) is not None:
            self._serving.accounts.leave(stream.handshake.client)
            self._places.give_back(stream.principal.key)
            stream.end()
            self._ending.spawn(stream.tasks.end())

    def _greeting(self, stream: _Stream) -> bytes:
        address = f"{self._target}?{_SESSION}={stream.id}"
        endpoint = event(address.encode(), b"endpoint")
        if self._bare is None:
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

        async def send(item: SessionMessage) -> None:
            await stream.add(encode(item.message))

        outbox = Outbox(send, stream.in_flight, stream.end)
        try:
            await serve_messages(self._serving, stream.inbox, outbox, stream.handshake)
        except Exception:  # other clients go on
            client = stream.handshake.client
            logger.exception("a connection failed", extra={"event": "connection_failed", "client": client})
        finally:
            self._forget(stream)

    # ---- messages ---------------------------------------------------------------------------

    def _posted(self, request: Request, responder: Responder) -> None:
        if (problem := body_problem(request.headers)) is not None:  # or a page could send it unasked
            self._serving.access.refused["type"] += 1
            raise RefusedMessage(INVALID_REQUEST, problem, status=415)
        named = self._session_of(request)
        if named is None and self._bare is not None:
            self._bare(request, responder)
            return
        message = parse(request.body)
        stream = self._open.get(_canonical(named)) if named is not None else None
        # A principal that may do other things by now has to open another stream.
        if stream is None or stream.owner != _proven(request.principal):
            self._no_stream(named, responder)
        elif self._bare is None and len(stream.in_flight) >= self._limits.max_in_flight:
            # Clients of this transport look at the stream, not at the reply.
            stream.tasks.spawn(self._when_fewer(stream, message, responder))
        else:
            self._to_stream(stream, message, responder)

    def _session_of(self, request: Request) -> str | None:
        """The id of the stream that a POST names."""
        named = parse_qs(request.query, keep_blank_values=True).get(_SESSION)
        if named is not None:
            return named[-1]
        if self._bare is None:
            return None
        return next((request.headers[name] for name in _SESSION_HEADERS if name in request.headers), None)

    def _no_stream(self, named: str | None, responder: Responder) -> None:
        if named is None:
            answer_text(responder, 400, f"{_SESSION} is required")
        elif self._bare is None and not _canonical(named):
            answer_text(responder, 400, "the session id is none")
        else:
            where = f"open one with GET {self._path}"
            answer_text(responder, 404, f"no stream is open for the session '{named[:64]}': {where}")

    async def _when_fewer(self, stream: _Stream, message: Message, responder: Responder) -> None:
        """Hand a message to the server when it has fewer of this client's requests."""
        try:
            await stream.in_flight.fewer_than(self._limits.max_in_flight)
        except asyncio.CancelledError:  # the stream has ended
            self._no_stream(stream.id, responder)
            raise
        self._to_stream(stream, message, responder)

    def _to_stream(self, stream: _Stream, message: Message, responder: Responder) -> None:
        """Hand a message to the server, whose answer goes to the stream."""
        request = message if isinstance(message, JSONRPCRequest) else None
        quick = self._serving.quick.answer(message, stream.handshake, stream.in_flight)
        if quick is not None and stream.offer(quick):
            responder.answer(202, b"Accepted", TEXT)
            return
        most = self._limits.max_in_flight
        if self._bare is not None and max(len(stream.in_flight), len(stream.inbox)) >= most:
            reason = f"{most} requests of this client are in flight, which is the most: wait for one"
            raise RefusedMessage(BUSY, reason, request.id if request else None, 429, headers=_LATER)
        try:
            noted = stream.in_flight.noted(message)
        except RefusedMessage as refused:
            if self._bare is not None:
                raise
            stream.tasks.spawn(_tell(stream, refused))
        else:
            stream.handshake.pending += request is not None and request.method == HANDSHAKE
            stream.inbox.put(noted)
        responder.answer(202, b"Accepted", TEXT)


def _proven(principal: Principal) -> Principal | None:
    return principal if principal.has_token else None


async def _tell(stream: _Stream, refused: RefusedMessage) -> None:
    with suppress(anyio.BrokenResourceError):  # the client has just left
        await stream.add(refused.payload)


def _canonical(session_id: str) -> str:
    """The one spelling of a session id; empty where it is none. A UUID may be written in several ways."""
    try:
        return UUID(hex=session_id).hex
    except ValueError:
        return ""
