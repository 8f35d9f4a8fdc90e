"""Runs the calls that the runtime sends on one server of the SDK, of both protocol eras."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NamedTuple

from mcp.server.connection import Connection
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCResponse
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from longwire.contract import writing
from longwire.contract.envelopes import Affinity, Failure, Message, Response
from longwire.counters import RuntimeCounters
from longwire.dispatch.connections import NO_CHANNEL, EnvelopeConnection
from longwire.dispatch.dispatcher import Dispatcher
from longwire.dispatch.exchange import Notice
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.wire.http.request import CURRENT_ID, Request
from longwire.wire.mcp_headers import ParameterHeaders
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import error_payload
from longwire.wire.serving import Serving
from longwire.worker.call_exchange import CallExchange, CallsConnection
from longwire.worker.worker_sessions import WorkerSession, WorkerSessions

logger: Final = logging.getLogger(__name__)

_CALL: Final = "tools/call"
_INITIALIZE: Final = "initialize"
_PROGRESS: Final = "notifications/progress"
_MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)


class Introduction(NamedTuple):
    """A worker's description of itself, for its hello."""

    name: str
    version: str
    max_in_flight: int = 64  # calls that it takes at once
    affinity: Affinity = "none"  # "session": all calls of a session should come to the same worker


class Service:
    """The calls, sessions and principals of one worker."""

    def __init__(self, serving: Serving, introduction: Introduction) -> None:
        self.introduction: Final = introduction
        self.dispatcher: Final = Dispatcher(serving)
        self.counters: Final = RuntimeCounters()
        self.sessions: Final = WorkerSessions(serving.limits, self.counters, self.dispatcher.clean_up)
        self._parameters = ParameterHeaders(serving.server)

    def message(self, envelope: Message, sink: CallsConnection) -> None:
        """Run a client's message."""
        rpc = envelope.jsonrpc
        method, params = rpc["method"], rpc.get("params")
        if params is not None and type(params) is not dict:
            self._refuse(envelope, "the message's 'params' should be an object", sink)
            return
        session = self.sessions.of(envelope, sink)
        request = self._request(envelope, session)
        token, other = PRINCIPAL.set(request.principal), CURRENT_ID.set(request.id)
        try:
            if "id" not in rpc:
                self._notification(envelope, request, session, sink)
            elif type(rpc["id"]) not in _ID_TYPES:
                self._refuse(envelope, "the message's 'id' should be an integer or a string", sink)
            elif envelope.id in sink.calls:
                logger.warning("the runtime sent a second call %s: it is ignored", envelope.id)
            elif len(sink.calls) >= 2 * self.introduction.max_in_flight:
                sentence = f"{len(sink.calls)} calls are in flight, which is the most: wait for one"
                sink.write(writing.envelope(Failure(envelope.id, sentence, "worker_queue_full")))
            else:
                message = PlainRequest(rpc["id"], method, params)
                self._call(CallExchange(envelope.id, message, request, sink, session), envelope)
        finally:
            PRINCIPAL.reset(token)
            CURRENT_ID.reset(other)

    def response(self, envelope: Response, sink: CallsConnection) -> None:
        """Give a client's answer to the handler that has asked."""
        exchange = sink.calls.get(envelope.id)
        session = exchange.session if exchange is not None else None
        if session is None:
            return  # its call is over
        kind = JSONRPCResponse if "result" in envelope.jsonrpc else JSONRPCError
        try:
            session.requests.resolve(kind.model_validate(envelope.jsonrpc, by_name=False))
        except ValidationError:
            logger.warning("a client's answer to call %s can't be read: it is no response", envelope.id)

    def session_end(self, session_id: str, sink: CallsConnection) -> None:
        for exchange in list(sink.calls.values()):
            if exchange.session is not None and exchange.session.id == session_id:
                exchange.cancel()
        self.sessions.end(session_id)

    async def close(self) -> None:
        """Cancel what runs."""
        await self.dispatcher.close()

    # ---- calls ------------------------------------------------------------------------------

    def _call(self, exchange: CallExchange, envelope: Message) -> None:
        session, method, params = exchange.session, exchange.method, envelope.jsonrpc.get("params")
        if session is None and method == _CALL and envelope.protocol_version in _MODERN:
            problem = self._parameters.problem(params or {}, envelope.headers)
            if problem is not None:
                exchange.refuse(ErrorData(code=problem.code, message=problem.message, data=problem.data))
                return
        connection = session.connection if session is not None else _connection(envelope, method)
        self.dispatcher.request(exchange, connection, method, params)

    def _notification(
        self, envelope: Message, request: Request, session: WorkerSession | None, sink: CallsConnection
    ) -> None:
        method, params = envelope.jsonrpc["method"], envelope.jsonrpc.get("params")
        task: asyncio.Task[None] | None = None
        if session is not None:
            if method == _PROGRESS:
                session.requests.progress(params)
            connection = session.connection
            task = self.dispatcher.notification(
                Notice(request, connection.outbound), connection, method, params
            )

        def finish(_: object = None) -> None:
            changes = session.changes() if session is not None else None
            sink.write(writing.result(envelope.id, None, session=changes))

        if task is None:
            finish()
        else:
            task.add_done_callback(finish)

    def _refuse(self, envelope: Message, sentence: str, sink: CallsConnection) -> None:
        given = envelope.jsonrpc.get("id")
        request_id = given if type(given) in _ID_TYPES else None
        sink.write(writing.result(envelope.id, error_payload(request_id, INVALID_REQUEST, sentence)))

    def _request(self, envelope: Message, session: WorkerSession | None) -> Request:
        given, tools = envelope.principal, envelope.principal.get("tools")
        allowed = None if tools is None else frozenset(map(str, tools))
        principal = Principal(given["key"], frozenset(map(str, given.get("scopes") or ())), allowed)
        request = Request(envelope.http_method, envelope.path, headers=envelope.headers, principal=principal)
        request.client = principal.key
        if session is not None:
            request.session_id, request.session = session.id, session
            if not principal.has_token:
                request.client = f"session:{session.id}"
        return request


_ID_TYPES: Final = frozenset({int, str})


def _connection(envelope: Message, method: str) -> Connection:
    """The SDK's connection for a request without a session."""
    version = envelope.protocol_version
    if version in _MODERN:
        client = envelope.client or {}
        return EnvelopeConnection(version, client.get("info"), client.get("capabilities"))
    if method == _INITIALIZE:
        return Connection(NO_CHANNEL, protocol_version=LATEST_HANDSHAKE_VERSION)
    return EnvelopeConnection(version)
