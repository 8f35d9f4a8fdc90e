"""Who is calling: a name for the other end that it can't make up, so that queues and limits hold.

Over HTTP a client is its token where the server asks for one, else its session, else its address. A header
that merely claims something, such as a session id that doesn't exist, never makes a name.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from starlette.types import Scope

# Set by transports with one connection per client before they serve it.
CONNECTION: Final[ContextVar[str | None]] = ContextVar("acuity_connection", default=None)
# Set for each HTTP request that was let in: the principal of its token, or else the address it comes from.
ORIGIN: Final[ContextVar[str | None]] = ContextVar("acuity_origin", default=None)

_TOKEN: Final = "token:"
_SESSION: Final = "acuity.session"  # in an ASGI scope


def token_origin(principal: str) -> str:
    return f"{_TOKEN}{principal}"


def address_origin(scope: Scope) -> str:
    peer = scope.get("client")
    return f"address:{peer[0] if peer else 'unknown'}"


def note_session(scope: Scope, session_id: str) -> None:
    """Note that a request is of a session which exists."""
    scope[_SESSION] = session_id


def owner() -> str | None:
    """Return whose jobs the present request may see: its token's, or None for everybody's."""
    origin = ORIGIN.get()
    return origin if origin is not None and origin.startswith(_TOKEN) else None


def may_see(client: str) -> bool:
    """Whether the present request may see and stop what that client has asked for."""
    return owner() in (None, client)


def client_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the token, connection, session or address that a request came through."""
    if (token := owner()) is not None:
        return token
    if (connection := CONNECTION.get()) is not None:
        return connection
    request = context.request
    if request is None:
        return "local"
    session: str | None = request.scope.get(_SESSION)
    return f"session:{session}" if session is not None else origin_of(context)


def origin_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return where a request came from, whichever session it belongs to: clients may have many of those."""
    if (origin := ORIGIN.get()) is not None:
        return origin
    if (connection := CONNECTION.get()) is not None:
        return connection
    return "local" if context.request is None else address_origin(context.request.scope)
