"""Streamable HTTP at /mcp: sessions for clients with a handshake, single exchanges for all other requests.

Each session has an event log of its own, and idle ones make room for new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final
from uuid import uuid4

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from acuity.mcp.limits import BUSY, ORIGIN, note_session
from acuity.mcp.wire.event_log import EventLog
from acuity.mcp.wire.exchange import BareReplies, serve_exchange
from acuity.mcp.wire.http_app import CheckedBody, checked_message, refusal
from acuity.mcp.wire.messages import Refused
from acuity.mcp.wire.serving import HANDSHAKE, Serving
from acuity.mcp.wire.session import Session

_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()
_SESSION_ID: Final = MCP_SESSION_ID_HEADER.encode()
_HANDSHAKE: Final = frozenset({None, *HANDSHAKE_PROTOCOL_VERSIONS})  # a request may name none
_METHODS: Final = ("GET", "POST", "DELETE")

RETRY_MS: Final = 1000  # how long a client should wait before it resumes a stream


class Sessions(StreamableHTTPSessionManager):
    """The sessions of one server."""

    def __init__(self, serving: Serving) -> None:
        limits = serving.limits
        super().__init__(
            serving.server,
            # Not JSON-only: that mode drops progress, and doesn't notice a client that goes away.
            json_response=False,
            retry_interval=RETRY_MS,
            session_idle_timeout=limits.idle_timeout,
            max_request_body_size=limits.max_message,
            max_sessions=limits.max_connections,
        )
        self._serving = serving
        self._most_each = limits.max_connections_each or limits.max_connections

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None, None]:
        async with super().run():
            try:
                yield
            finally:
                # With their streams closed, calls in flight end at once instead of trying to answer.
                with anyio.CancelScope(shield=True):
                    for session in list(self._server_instances.values()):
                        await session.terminate()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose body was read and checked already; the SDK's own entry does that again."""
        session_id = _header(scope, _SESSION_ID)
        if session_id is not None and self.find(session_id) is not None:
            note_session(scope, session_id)
        if _is_stateless(scope):
            if not await serve_exchange(self._serving, scope, receive, send):
                await self._handle_request(scope, receive, send)
            return
        refused = self._refused(scope) if session_id is None else None
        await (refused or self._handle_request)(scope, receive, send)

    def _refused(self, scope: Scope) -> Response | None:
        """Return the answer to a request that can't begin a session; the SDK would make one for it first."""
        if _header(scope, _VERSION) not in _HANDSHAKE:
            return None  # the SDK refuses it and names the supported ones
        if scope["method"] not in _METHODS:
            return PlainTextResponse("Method Not Allowed", 405, {"Allow": ", ".join(_METHODS)})
        if not _is_initialize(scope):
            return refusal(Refused(INVALID_REQUEST, "Bad Request: Missing session ID"))
        origin = ORIGIN.get() or ""
        mine = [session for session in self._sessions() if session.origin == origin]
        if len(mine) < self._most_each or any(session.is_idle for session in mine):
            return None
        reason = f"{self._most_each} sessions of this address or token are open, which is the most: end one"
        return refusal(Refused(BUSY, reason), 503)

    def find(self, session_id: str) -> Session | None:
        """The session of that id, if there is one."""
        found = self._server_instances.get(session_id)
        return found if isinstance(found, Session) else None

    def _sessions(self) -> list[Session]:
        return [found for found in self._server_instances.values() if isinstance(found, Session)]

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """As the SDK does it, except for the transport's class and log, and that idle sessions make room."""
        origin = ORIGIN.get() or ""
        if not self._make_room(origin):
            return None
        session = Session(
            mcp_session_id=uuid4().hex,
            origin=origin,
            event_store=EventLog(),
            retry_interval=self.retry_interval,
            idle_timeout=self.session_idle_timeout,
        )
        assert session.mcp_session_id is not None
        if requestor is not None:
            self._session_owners[session.mcp_session_id] = requestor
        self._server_instances[session.mcp_session_id] = session
        return session

    def _make_room(self, origin: str) -> bool:
        """Make room for a session of this origin, if need be by ending an idle one; whether there is room.

        An origin that has its share gives one of its own. Otherwise whoever has the most gives one, so that
        nobody who has a few sessions loses them to one who opens many.
        """
        count = Counter(session.origin for session in self._sessions())
        if count[origin] >= self._most_each:
            return self._end_longest_idle({origin})
        if self.max_sessions is None or count.total() < self.max_sessions:
            return True
        idle = {session.origin for session in self._sessions() if session.is_idle}
        most = max((count[name] for name in idle), default=0)
        return self._end_longest_idle({name for name in idle if count[name] == most})

    def _end_longest_idle(self, origins: Collection[str]) -> bool:
        # The session that would time out next is ended; its client gets the answer to begin a new one.
        idle = [s for s in self._sessions() if s.is_idle and s.origin in origins]
        if not idle:
            return False
        oldest = min(idle, key=lambda session: session.idle_until)
        assert oldest.mcp_session_id is not None
        self._server_instances.pop(oldest.mcp_session_id, None)
        self._session_owners.pop(oldest.mcp_session_id, None)
        if oldest.idle_scope is not None:
            oldest.idle_scope.cancel()
        return True


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for found, value in scope["headers"] if found == name), None)


def _is_initialize(scope: Scope) -> bool:
    """Whether a request may begin a session."""
    if scope["method"] != "POST":
        return False
    message = checked_message(scope)
    return isinstance(message, JSONRPCRequest) and message.method == "initialize"


def _is_stateless(scope: Scope) -> bool:
    """Whether a request names a protocol version without a handshake, as the SDK tells them apart."""
    return scope["method"] == "POST" and _header(scope, _VERSION) not in _HANDSHAKE


PATH: Final = "/mcp"


class StreamableApp:
    """The application at that path."""

    def __init__(self, serving: Serving) -> None:
        self._sessions = Sessions(serving)
        self._bare = BareReplies(serving) if serving.bare else None
        self._checked = CheckedBody(self._serve, serving.limits.max_message)

    def run(self) -> AbstractAsyncContextManager[None]:
        """The sessions' lifespan, to be entered while the application is served."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._checked(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._bare is not None and scope["method"] == "POST" and _is_bare(scope):
            await self._bare(scope, receive, send)
        else:
            await self._sessions.serve(scope, receive, send)


def _is_bare(scope: Scope) -> bool:
    """Whether a POST names neither a session nor a protocol version, and begins no session."""
    message, headers = checked_message(scope), Headers(scope=scope)
    return (
        isinstance(message, JSONRPCRequest)
        and message.method != HANDSHAKE
        and MCP_SESSION_ID_HEADER not in headers
        and MCP_PROTOCOL_VERSION_HEADER not in headers
    )
