"""The sessions of Streamable HTTP: each with an event log of its own, and with room made for new ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from acuity.mcp.transports.event_log import EventLog
from acuity.mcp.transports.exchange import serve_exchange
from acuity.mcp.transports.session import Session

_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()

RETRY_MS: Final = 1000  # how long a client should wait before it resumes a stream


class Sessions(StreamableHTTPSessionManager):
    """The sessions of one server."""

    def __init__(self, server: Server[Any], *, most: int, idle_timeout: float, body: int) -> None:
        super().__init__(
            server,
            # Not JSON-only: that mode drops progress, and doesn't notice a client that goes away.
            json_response=False,
            retry_interval=RETRY_MS,
            session_idle_timeout=idle_timeout,
            max_request_body_size=body,
            max_sessions=most,
        )

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
        state = self._lifespan_state
        if not _is_stateless(scope) or not await serve_exchange(self.app, state, scope, receive, send):
            await self._handle_request(scope, receive, send)

    def find(self, session_id: str) -> Session | None:
        """The session of that id, if there is one."""
        found = self._server_instances.get(session_id)
        return found if isinstance(found, Session) else None

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """As the SDK does it, except for the transport's class and log, and that idle sessions make room."""
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            self._end_longest_idle()
            if len(self._server_instances) >= self.max_sessions:
                return None
        session = Session(
            mcp_session_id=uuid4().hex,
            event_store=EventLog(),
            retry_interval=self.retry_interval,
            idle_timeout=self.session_idle_timeout,
        )
        assert session.mcp_session_id is not None
        if requestor is not None:
            self._session_owners[session.mcp_session_id] = requestor
        self._server_instances[session.mcp_session_id] = session
        return session

    def _end_longest_idle(self) -> None:
        # Whoever would have timed out next goes; its client is told to begin a new session.
        idle = [s for s in self._server_instances.values() if isinstance(s, Session) and s.is_idle]
        if not idle:
            return
        oldest = min(idle, key=lambda session: session.idle_until)
        assert oldest.mcp_session_id is not None
        self._server_instances.pop(oldest.mcp_session_id, None)
        self._session_owners.pop(oldest.mcp_session_id, None)
        if oldest.idle_scope is not None:
            oldest.idle_scope.cancel()


def _is_stateless(scope: Scope) -> bool:
    """Whether a request names a protocol version without a handshake, as the SDK tells them apart."""
    version = next((value for name, value in scope["headers"] if name == _VERSION), None)
    if version is None or scope["method"] != "POST":
        return False
    return version.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS
