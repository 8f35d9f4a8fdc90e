"""Streamable HTTP as the standalone server has it, for clients that ask without a handshake too."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import JSONRPCRequest
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.inline import InlineReplies
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.wire.http_app import PATH
from acuity.mcp.wire.http_body import CheckedBody, checked_message
from acuity.mcp.wire.sessions import Sessions

__all__ = ["PATH", "StreamableFront"]


class StreamableFront:
    """An application. Requests of no session and no version are answered by themselves."""

    def __init__(
        self, server: Server[Any], quick: QuickAnswers, limits: FrontLimits, lifespan_state: Any
    ) -> None:
        self._sessions = Sessions(
            server, most=limits.connections, idle_timeout=limits.idle_timeout, body=limits.line
        )
        self._inline = InlineReplies(server, quick, limits, lifespan_state)
        self._checked = CheckedBody(self._either, limits.line)

    def run(self) -> AbstractAsyncContextManager[None]:
        """To be entered while it is served."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._checked(scope, receive, send)

    async def _either(self, scope: Scope, receive: Receive, send: Send) -> None:
        bare = scope["method"] == "POST" and _is_bare(checked_message(scope), Headers(scope=scope))
        await (self._inline if bare else self._sessions.serve)(scope, receive, send)


def _is_bare(message: object, headers: Headers) -> bool:
    return (
        isinstance(message, JSONRPCRequest)
        and message.method != "initialize"
        and MCP_SESSION_ID_HEADER not in headers
        and MCP_PROTOCOL_VERSION_HEADER not in headers
    )
