"""Members of other packages that are private or undocumented and that this one uses, each with its reason.

Nothing here is promised by those packages, so they are bounded in pyproject.toml, and a test holds that every
member exists with its parameters and that no other is used. What can be used through a function is used
through one of those below. Needs none of the protocol's libraries to be imported.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.lowlevel import Server
    from mcp.server.session import ServerSession


class Private(NamedTuple):
    """One member of a class, or one name of a module."""

    owner: str  # as in module:Class
    name: str
    parameters: str | None  # of a method or function, without self; None for anything else
    reason: str


MEMBERS: Final = (
    Private("mcp.server.session:ServerSession", "_connection", None, "clients are told apart by connection"),
    Private("mcp.server._otel", "OpenTelemetryMiddleware", None, "its spans cost 40 µs for each request"),
    Private(
        "asyncio.selector_events:BaseSelectorEventLoop",
        "_selector",
        None,
        "a forked child lets go of the descriptors that its parent's loop waits for",
    ),
)


def connection_of(session: ServerSession) -> Connection:
    """The SDK's connection that a request came by."""
    return session._connection


def drop_request_spans(server: Server[Any]) -> None:
    """Take the SDK's middleware that makes a span of each request out of the server."""
    from mcp.server._otel import OpenTelemetryMiddleware

    server.middleware[:] = [m for m in server.middleware if not isinstance(m, OpenTelemetryMiddleware)]


def selector_of(loop: asyncio.AbstractEventLoop) -> Any:
    """The selector that an event loop waits with; on Linux it has a descriptor of its own."""
    return loop._selector  # type: ignore[attr-defined]
