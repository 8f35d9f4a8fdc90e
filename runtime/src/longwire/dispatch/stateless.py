"""Requests that belong to no session: those with an envelope of their own, and those with nothing at all.

A client that disconnects ends such a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    NAME_BEARING_METHODS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    unsupported_protocol_version_rejection,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    JSONRPCNotification,
    RequestId,
)
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from longwire.dispatch.connections import EnvelopeConnection
from longwire.dispatch.core import PING, Core
from longwire.dispatch.exchange import Cancellable, HttpExchange, Options, Params
from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.http.routes import body_problem
from longwire.wire.mcp_headers import (
    MODERN,
    NOT_ACCEPTABLE,
    ROUTING,
    VERSION,
    Accepted,
    ParameterHeaders,
    accepted,
)
from longwire.wire.messages import Incoming, PlainRequest, RefusedMessage, parse_request
from longwire.wire.replies import JSON, notification_payload, status_of, status_of_code
from longwire.wire.serving import has_envelope

ROOM: Final = 64 << 10  # bytes that a client may leave unread before a handler that sends more has to wait


class SingleExchange(HttpExchange):
    """A call that belongs to no session: its client gets everything in this one answer."""

    __slots__ = ("_core", "_room", "_statuses", "_streaming", "_takes_events")

    def __init__(
        self,
        core: Core,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        *,
        takes_events: bool = True,
        statuses: bool = True,
    ) -> None:
        """`statuses`: whether errors have a status of their own."""
        super().__init__(message, request, responder)
        self._core = core
        self._takes_events = takes_events
        self._statuses = statuses
        self._streaming = False
        self._room = asyncio.Event()  # of the client that a handler waits for

    def wait(self, task: Cancellable) -> None:
        super().wait(task)
        if self._responder.gone:
            task.cancel()
            return
        self._responder.on_gone(self._left)
        if self._takes_events and not self._streaming:
            self._timer = self._core.later(self._core.serving.limits.heartbeat, self._show_life)

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        if not self._takes_events or self.is_over:
            return
        self._begin()
        self._responder.send(_event(notification_payload(method, params)))
        while self._responder.unsent > ROOM and not self._responder.gone:
            self._room.clear()
            await self._room.wait()

    def end(self) -> None:
        super().end()
        if self._streaming:
            self._core.open_responses.discard(self._responder)

    def prefer_events(self) -> None:
        if self._takes_events and not self._responder.gone:
            self._begin()

    def _begin(self) -> None:
        if not self._streaming:
            self._streaming = True
            self._stop_timer()
            self._responder.begin_events()
            self._responder.on_room(self._room.set)
            self._core.open_responses.add(self._responder)

    def _show_life(self) -> None:
        self._timer = None
        self._begin()
        self._responder.send(PING)

    def _left(self) -> None:
        if self._cancel_requested is not None:
            self._cancel_requested.set()
        self._room.set()
        if self.task is not None and not self.is_over:
            self.task.cancel()

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        if self._streaming:
            self._responder.send(_event(payload))
            self._responder.end()
        else:
            super()._answer(payload, status, headers)

    def _status(self, error: ErrorData) -> int:
        return status_of(error, stateless=self._statuses)


def _event(payload: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % payload


_CALL: Final = "tools/call"
_ENCODED: Final = "=?"  # how a header begins that has its value in base64
_LISTEN: Final = "subscriptions/listen"  # is answered by events alone
# How requests that are refused for their envelope or headers are counted, by the code of the error.
_REASONS: Final = {HEADER_MISMATCH: "header", UNSUPPORTED_PROTOCOL_VERSION: "version"}
_NO_ENVELOPE: Final = "envelope"  # it lacks, or is none
_NO_REQUEST: Final = "Body must be a single JSON-RPC request or notification object"


class Stateless:
    """Answers requests that belong to no session, each by itself; raises RefusedMessage."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._parameters = ParameterHeaders(core.serving.server)

    def serve(self, request: Request, responder: Responder, message: Incoming, version: str) -> None:
        """Answer a request of a protocol version that has no handshake."""
        request_id = message.id if isinstance(message, PlainRequest) else None
        negotiated(request, request_id)
        if version not in MODERN:
            rejection = unsupported_protocol_version_rejection(version)
            assert rejection is not None
            raise _rejected(rejection, request_id)
        if isinstance(message, PlainRequest):
            self._request(request, responder, message)
        elif isinstance(message, JSONRPCNotification):
            responder.answer(202)  # there is nothing that it could be about
        else:
            raise RefusedMessage(INVALID_REQUEST, _NO_REQUEST)

    def _request(self, request: Request, responder: Responder, message: PlainRequest) -> None:
        headers = request.headers
        method, params = message.method, message.params
        connection = _plain_connection(method, params, headers)
        if connection is None:
            route = classify_inbound_request({"method": method, "params": params}, headers=headers)
            if isinstance(route, InboundLadderRejection):
                raise _rejected(_named_missing(route, headers), message.id)
            connection = _connection(route)
        if method == _CALL and (problem := self._parameters.problem(params or {}, headers)) is not None:
            raise _rejected(problem, message.id)
        request.client = request.principal.key
        self._run(request, responder, message, connection)

    def bare(self, request: Request, responder: Responder) -> None:
        """Answer a POST that needs neither a session nor an envelope, and whose body was not read yet."""
        message = parsed(request)
        if isinstance(message, PlainRequest):
            self.serve_bare(request, responder, message)
        else:
            responder.answer(202)  # there is nothing that it could be about

    def serve_bare(self, request: Request, responder: Responder, message: PlainRequest) -> None:
        """Answer such a request. Errors have the status 200 too."""
        connection = EnvelopeConnection(LATEST_HANDSHAKE_VERSION)
        if has_envelope(message.params):
            route = classify_inbound_request({"method": message.method, "params": message.params})
            if isinstance(route, InboundLadderRejection):
                raise _rejected(route, message.id, 200)
            connection = _connection(route)
        takes_events = message.method == _LISTEN or "text/event-stream" in request.headers.get("accept", "")
        self._run(request, responder, message, connection, takes_events=takes_events, statuses=False)

    def _run(
        self,
        request: Request,
        responder: Responder,
        message: PlainRequest,
        connection: EnvelopeConnection,
        **how: bool,
    ) -> None:
        core = self._core
        if (quick := core.quick(message, request.client, connection.protocol_version)) is not None:
            responder.answer(200, quick, JSON)
            return
        exchange = SingleExchange(core, message, request, responder, **how)
        core.dispatcher.request(exchange, connection, message.method, message.params)


def parsed(request: Request) -> Incoming:
    """The message in a body of JSON. Other types are refused unread: pages could send those unasked."""
    if (problem := body_problem(request.headers)) is not None:
        raise RefusedMessage(INVALID_REQUEST, problem, status=415, counted="type")
    return parse_request(request.body)


def negotiated(request: Request, request_id: RequestId | None) -> Accepted:
    """The media types that the client takes, among which must be both that an answer may have."""
    takes = accepted(request.headers.get("accept", ""))
    if not (takes.json and takes.events):
        raise RefusedMessage(INVALID_REQUEST, NOT_ACCEPTABLE, request_id, 406, counted="accept")
    return takes


def _plain_connection(
    method: str, params: dict[str, Any] | None, headers: Mapping[str, str]
) -> EnvelopeConnection | None:
    """The connection of a request whose headers repeat its envelope as it is; None: the SDK has to look."""
    meta = params.get("_meta") if params is not None else None
    if params is None or type(meta) is not dict or CLIENT_CAPABILITIES_META_KEY not in meta:
        return None
    version = headers[VERSION]
    if meta.get(PROTOCOL_VERSION_META_KEY) != version or headers.get(MCP_METHOD_HEADER) != method:
        return None
    if (named_by := NAME_BEARING_METHODS.get(method)) is not None:
        name = headers.get(MCP_NAME_HEADER)
        if name is None or name != params.get(named_by) or name.startswith(_ENCODED):
            return None
    return EnvelopeConnection(version, meta.get(CLIENT_INFO_META_KEY), meta[CLIENT_CAPABILITIES_META_KEY])


def _connection(route: InboundModernRoute) -> EnvelopeConnection:
    return EnvelopeConnection(route.protocol_version, route.client_info, route.client_capabilities)


def _rejected(
    rejection: InboundLadderRejection, request_id: RequestId | None, status: int | None = None
) -> RefusedMessage:
    """The refusal of a request for its envelope or its headers."""
    code, counted = rejection.code, _REASONS.get(rejection.code, _NO_ENVELOPE)
    status = status_of_code(code) if status is None else status
    return RefusedMessage(code, rejection.message, request_id, status, counted=counted, data=rejection.data)


def _named_missing(rejection: InboundLadderRejection, headers: Mapping[str, str]) -> InboundLadderRejection:
    """The same rejection, in other words if a header is missing: the SDK says that it doesn't match."""
    name = rejection.message.partition(" ")[0]
    if rejection.code != HEADER_MISMATCH or name not in ROUTING or name in headers:
        return rejection
    return replace(rejection, message=f"{name} header is missing")
