"""One exchange over HTTP: a request in a POST, and its answer in the reply.

The handler runs in the POST's own task, and nothing else is started before it has taken a while. The reply is
JSON unless something is sent before the answer; then it is an event stream. A client that disconnects ends
its work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, modern_on_request, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    validate_mcp_param_headers,
)
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from acuity.mcp.limits import CONNECTION
from acuity.mcp.wire.events import HEADERS, HEARTBEAT, event
from acuity.mcp.wire.http_app import checked_message
from acuity.mcp.wire.messages import Message, encode, progress_params
from acuity.mcp.wire.serving import Handshake, Serving, checked_envelopes, has_envelope

SOON: Final = 0.05  # seconds until it is looked after whether the client is still there

_JSON: Final = "application/json"
_ENDLESS: Final = "subscriptions/listen"  # is answered by events alone
_Work: TypeAlias = Callable[["_Exchange"], Awaitable[dict[str, Any]]]


async def serve_exchange(serving: Serving, scope: Scope, receive: Receive, send: Send) -> bool:
    """Answer a request of a protocol version without a handshake, as the SDK's own entry does.

    Returns False where there is anything for the SDK to refuse or to acknowledge. This takes half the time.
    """
    message, request, server = checked_message(scope), Request(scope, receive), serving.server
    if not isinstance(message, JSONRPCRequest) or (route := _route(server, message, request)) is None:
        return False
    connection = Connection.from_envelope(
        route.protocol_version, route.client_info, route.client_capabilities
    )

    def work(exchange: _Exchange) -> Awaitable[dict[str, Any]]:
        return serve_one(
            server,
            exchange,
            message.method,
            message.params,
            connection=connection,
            lifespan_state=serving.lifespan_state,
        )

    exchange = _Exchange(message, request, send, statuses=ERROR_CODE_HTTP_STATUS)
    await _run(exchange, work, receive, serving.limits.heartbeat)
    return True


class BareReplies:
    """An application for POSTs that belong to no session, with an envelope or without one.

    The body was checked before. Errors of the protocol have the status 200 too.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._enveloped = checked_envelopes(modern_on_request(serving.server, serving.lifespan_state))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message, request = checked_message(scope), Request(scope, receive)
        if not isinstance(message, JSONRPCRequest):
            await Response(status_code=202)(scope, receive, send)  # there is nothing it could be about
            return
        host, port = scope.get("client") or ("local", 0)
        name = f"post:{host}:{port}"
        quick = self._serving.quick.answer(message, Handshake(name))
        if quick is not None:
            await Response(quick, media_type=_JSON)(scope, receive, send)
            return
        CONNECTION.set(name)

        def work(exchange: _Exchange) -> Awaitable[dict[str, Any]]:
            if has_envelope(message.params):
                return self._enveloped(exchange, message.method, message.params)
            return serve_one(
                self._serving.server,
                exchange,
                message.method,
                message.params,
                connection=Connection.from_envelope(LATEST_HANDSHAKE_VERSION, None, None),
                lifespan_state=self._serving.lifespan_state,
            )

        takes_events = "text/event-stream" in request.headers.get("accept", "")
        exchange = _Exchange(message, request, send, events=takes_events or message.method == _ENDLESS)
        await _run(exchange, work, receive, self._serving.limits.heartbeat)


async def _run(exchange: _Exchange, work: _Work, receive: Receive, heartbeat: float) -> None:
    with anyio.CancelScope() as scope:
        companions = _Companions(exchange, receive, scope.cancel, heartbeat)
        try:
            result = await work(exchange)
            answer: Message = JSONRPCResponse(jsonrpc="2.0", id=exchange.request_id, result=result)
        except Exception as error:
            answer = JSONRPCError(jsonrpc="2.0", id=exchange.request_id, error=modern_error_data(error))
        finally:
            companions.stop()
    if not scope.cancelled_caught:
        await exchange.end(answer)


def _route(server: Server[Any], message: JSONRPCRequest, request: Request) -> InboundModernRoute | None:
    """The client and its version, if the request is as it should be in every way that the SDK checks."""
    headers = request.headers
    if not headers.get("content-type", "").lower().startswith(_JSON):
        return None
    if check_accept_headers(request) != (True, True):
        return None
    if find_duplicated_routing_header(headers.items()) is not None:
        return None
    params = message.params or {}
    route = classify_inbound_request({"method": message.method, "params": params}, headers=dict(headers))
    if not isinstance(route, InboundModernRoute):
        return None
    if message.method == "tools/call" and not _parameters_agree(server, params, headers):
        return None
    return route


def _parameters_agree(server: Server[Any], params: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether headers that repeat a tool's arguments say the same."""
    arguments, name = params.get("arguments") or {}, params.get("name")
    if not arguments and not any(header.startswith("mcp-param-") for header in headers):
        return True
    if (
        server.get_tool_input_schema is None
        or not isinstance(arguments, Mapping)
        or not isinstance(name, str)
    ):
        return False
    schema = server.get_tool_input_schema(name)
    return schema is None or validate_mcp_param_headers(schema, arguments, headers) is None


class _Exchange:
    """The SDK's DispatchContext of one POST: what a handler sends to its client by."""

    can_send_request: Final = False

    def __init__(
        self,
        message: JSONRPCRequest,
        request: Request,
        send: Send,
        *,
        events: bool = True,
        statuses: Mapping[int, int] | None = None,
    ) -> None:
        """`events` says whether the client takes any; `statuses` are those of HTTP, by error code."""
        self.request_id = message.id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=request.headers
        )
        self._request = request
        self._send = send
        self._events = events
        self._statuses = statuses or {}
        self._progress_token = progress_token_from_params(message.params)
        self._writing = asyncio.Lock()
        self._streaming = self._over = False

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self._events:
            given = {} if params is None else {"params": dict(params)}
            await self._stream(event(encode(JSONRPCNotification(jsonrpc="2.0", method=method, **given))))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress_token is None:
            return
        await self.notify(
            "notifications/progress", progress_params(self._progress_token, progress, total, message)
        )

    async def ping(self) -> None:
        """Show that the server still works on the answer."""
        if self._events:
            await self._stream(HEARTBEAT)

    async def end(self, answer: Message) -> None:
        async with self._writing:
            self._over = True
            if self._streaming:
                body = event(encode(answer))
                await self._send({"type": "http.response.body", "body": body, "more_body": False})
                return
        code = answer.error.code if isinstance(answer, JSONRPCError) else 0
        response = Response(encode(answer), self._statuses.get(code, 200), None, _JSON)
        await response(self._request.scope, self._request.receive, self._send)

    async def _stream(self, text: bytes) -> None:
        async with self._writing:
            if self._over:
                return  # a handler's task may outlive its answer
            if not self._streaming:
                self._streaming = True
                await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


class _Companions:
    """Two tasks beside a handler that takes a while: one watches for a disconnect, one sends heartbeats."""

    def __init__(
        self, exchange: _Exchange, receive: Receive, cancel: Callable[[], None], heartbeat: float
    ) -> None:
        self._exchange = exchange
        self._receive = receive
        self._cancel = cancel
        self._heartbeat = heartbeat
        self._tasks: list[asyncio.Task[None]] = []
        self._timer = asyncio.get_running_loop().call_later(SOON, self._start)

    def stop(self) -> None:
        self._timer.cancel()
        tasks, self._tasks = self._tasks, []  # or they and this would hold each other
        for task in tasks:
            task.cancel()

    def _start(self) -> None:
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._ping())]

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._cancel()

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat)
            await self._exchange.ping()
