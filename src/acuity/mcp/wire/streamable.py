"""Streamable HTTP at /mcp: sessions for clients with a handshake, single exchanges for all other requests."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Final

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import JSONRPCRequest
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from acuity.mcp.wire.exchange import BareReplies
from acuity.mcp.wire.http_app import CheckedBody, checked_message
from acuity.mcp.wire.serving import HANDSHAKE, Serving
from acuity.mcp.wire.sessions import Sessions

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
