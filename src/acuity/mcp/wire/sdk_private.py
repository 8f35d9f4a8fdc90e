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
    from mcp.shared._stream_protocols import ReadStream, WriteStream

    __all__ = ["ReadStream", "WriteStream"]


class Private(NamedTuple):
    """One member of a class, or one name of a module."""

    owner: str  # as in module:Class
    name: str
    parameters: str | None  # of a method or function, without self; None for anything else
    reason: str


_SESSION: Final = "mcp.server.streamable_http:StreamableHTTPServerTransport"
_MANAGER: Final = "mcp.server.streamable_http_manager:StreamableHTTPSessionManager"
_CONNECTION: Final = "uvicorn.protocols.http.h11_impl:H11Protocol"
_CYCLE: Final = "uvicorn.protocols.http.h11_impl:RequestResponseCycle"
_SERVER: Final = "uvicorn.server:Server"

_POST: Final = "a call that ends soon is answered as JSON, and ids in flight are refused: no hook for either"
_REPLAY: Final = "the SDK's own replay never ends a resumed stream"
_IDLE: Final = "idle sessions make room for new ones, which the SDK refuses instead"

MEMBERS: Final = (
    Private(_SESSION, "_handle_post_request", "scope, request, receive, send", _POST),
    Private(_SESSION, "_check_content_type", "request", _POST),
    Private(_SESSION, "_validate_accept_header", "request, scope, send", _POST),
    Private(_SESSION, "_validate_request_headers", "request, send", _POST),
    Private(_SESSION, "_mint_priming_event", "stream_id, protocol_version", _POST),
    Private(_SESSION, "_create_session_message", "message, request, request_id, protocol_version", _POST),
    Private(_SESSION, "_create_json_response", "response_message, status_code, headers", _POST),
    Private(_SESSION, "_create_error_response", "error_message, status_code, error_code, headers", _POST),
    Private(_SESSION, "_create_event_data", "event_message", _POST),
    Private(_SESSION, "_clean_up_memory_streams", "request_id", _POST),
    Private(_SESSION, "_request_streams", None, _POST),
    Private(_SESSION, "_sse_stream_writers", None, _POST),
    Private(_SESSION, "_read_stream_writer", None, _POST),
    Private(_SESSION, "_terminated", None, _POST),
    Private(_SESSION, "_replay_events", "last_event_id, request, send", _REPLAY),
    Private(
        _SESSION,
        "_terminate_unanswered_request",
        "request_id",
        "a cancelled request has no answer that would end it in the event log and among those in flight",
    ),
    Private(_SESSION, "_requests_in_flight", None, _IDLE),
    Private(_MANAGER, "_admit_session", "requestor", _IDLE),
    Private(_MANAGER, "_server_instances", None, _IDLE),
    Private(_MANAGER, "_session_owners", None, _IDLE),
    Private(
        _MANAGER,
        "_handle_request",
        "scope, receive, send",
        "the public entry reads and checks the body again",
    ),
    Private("mcp.server.session:ServerSession", "_connection", None, "clients are told apart by connection"),
    Private("mcp.server._otel", "OpenTelemetryMiddleware", None, "its spans cost 40 µs for each request"),
    Private("mcp.shared._stream_protocols", "ReadStream", None, "the type of Session.connect()"),
    Private("mcp.shared._stream_protocols", "WriteStream", None, "the type of Session.connect()"),
    Private(_CONNECTION, "cycle", None, "deadlines depend on how far a request is"),
    Private(_CONNECTION, "connections", None, "half-open connections don't count against uvicorn's limit"),
    Private(_CONNECTION, "transport", None, "it is aborted when a deadline has passed"),
    Private(_CYCLE, "more_body", None, "deadlines depend on how far a request is"),
    Private(_CYCLE, "response_complete", None, "deadlines depend on how far a request is"),
    Private(_SERVER, "startup", "sockets", "the endpoint is open when this has returned"),
    Private(_SERVER, "capture_signals", "", "signals are handled for the whole program"),
    Private(_SERVER, "servers", None, "an endpoint takes no more clients while requests go on"),
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
