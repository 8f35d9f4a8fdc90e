"""Streamable HTTP as the standalone server has it, for clients that ask without a handshake too."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    find_duplicated_routing_header,
)
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.fast import FastAnswers
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.inline import InlineReplies
from acuity.mcp.embedded.quick_posts import Answer
from acuity.mcp.embedded.shapes import METHOD
from acuity.mcp.wire.http_app import PATH
from acuity.mcp.wire.http_body import CheckedBody, checked_message
from acuity.mcp.wire.sessions import Sessions

__all__ = ["PATH", "StreamableFront"]

_JSON: Final = "application/json"


class StreamableFront:
    """An application. Requests of no session and no version are answered by themselves."""

    def __init__(
        self, server: Server[Any], fast: FastAnswers | None, limits: FrontLimits, lifespan_state: Any
    ) -> None:
        self._fast = fast
        self._sessions = Sessions(
            server, most=limits.connections, idle_timeout=limits.idle_timeout, body=limits.line
        )
        self._inline = InlineReplies(server, limits, lifespan_state)
        self._checked = CheckedBody(self._either, limits.line)

    def run(self) -> AbstractAsyncContextManager[None]:
        """To be entered while it is served."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._checked(scope, receive, send)

    async def _either(self, scope: Scope, receive: Receive, send: Send) -> None:
        bare = scope["method"] == "POST" and _is_bare(checked_message(scope), Headers(scope=scope))
        await (self._inline if bare else self._sessions.serve)(scope, receive, send)

    def route(self, target: str, headers: Headers) -> Answer | None:
        """What answers calls with such a head on the spot, if anything does."""
        if self._fast is None or target != PATH or not _is_proper(headers):
            return None
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
        session = headers.get(MCP_SESSION_ID_HEADER)
        if version is None:
            return self._fast.answer if session is None else None
        if session is not None:
            return self._in_session(session, version) if version in HANDSHAKE_PROTOCOL_VERSIONS else None
        if version in MODERN_PROTOCOL_VERSIONS and headers.get(MCP_METHOD_HEADER) == METHOD:
            return self._alone(headers.get(MCP_NAME_HEADER, ""), version)
        return None

    def _alone(self, name: str, version: str) -> Answer:
        fast = self._fast
        assert fast is not None
        return lambda body, agreed: fast.answer(body, agreed, said=(name, version))

    def _in_session(self, number: str, version: str) -> Answer:
        fast, agreed = self._fast, Agreed(version, client=f"session:{number}")
        assert fast is not None

        def answer(body: bytes, _: Agreed) -> bytes | None:
            session = self._sessions.find(number)
            if session is None or session.is_terminated:
                return None
            session.touch()
            return fast.answer(body, agreed, session.in_flight)

        return answer


def _is_bare(message: object, headers: Headers) -> bool:
    return (
        isinstance(message, JSONRPCRequest)
        and message.method != "initialize"
        and MCP_SESSION_ID_HEADER not in headers
        and MCP_PROTOCOL_VERSION_HEADER not in headers
    )


def _is_proper(headers: Headers) -> bool:
    """Whether the head is one that the long way would find nothing to say about."""
    asked = Request({"type": "http", "headers": headers.raw})
    return (
        headers.get("content-type") == _JSON
        and all(check_accept_headers(asked))
        and find_duplicated_routing_header(headers.items()) is None
        and not any(name.startswith(MCP_PARAM_HEADER_PREFIX.lower()) for name in headers)
    )
