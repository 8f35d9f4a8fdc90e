"""Who is calling: a name for the other end of a connection, so that queues can be fair."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from starlette.requests import Request

# Set by transports with one connection per client before they serve it.
CONNECTION: Final[ContextVar[str | None]] = ContextVar("acuity_connection", default=None)

_SESSION_HEADER: Final = "mcp-session-id"
_NAME: Final = "acuity.client"  # in an ASGI scope, as several ask for each request


def client_of(context: ServerRequestContext[Any, Any]) -> str:
    """The connection or session a request came through; over stateless HTTP its token or address."""
    if (connection := CONNECTION.get()) is not None:
        return connection
    request = context.request
    if request is None:
        return "local"
    name: str | None = request.scope.get(_NAME)
    if name is None:
        name = request.scope[_NAME] = _named(request)
    return name


def _named(request: Request) -> str:
    if (session := request.headers.get(_SESSION_HEADER)) is not None:
        return f"session:{session}"
    if (token := request.headers.get("authorization")) is not None:
        return f"token:{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    return f"address:{request.client.host if request.client else 'unknown'}"
