"""One exchange of stateless HTTP (protocol versions without a handshake): a request in, its answer out.

What the SDK's own entry does, for requests that have nothing wrong with them, in half the time: the handler
runs in the request's own task, and nothing else is started before it has taken a while. As there, the answer
is JSON unless something is told before it, and a client that goes away ends its work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
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
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from acuity.mcp.wire.http_body import checked_message
from acuity.mcp.wire.messages import Message, encode, progress_params

SOON: Final = 0.05  # seconds until it is looked after whether the client is still there
PING: Final = 15.0  # seconds of silence that proxies bear

_EVENTS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


async def serve_exchange(
    server: Server[Any], lifespan_state: Any, scope: Scope, receive: Receive, send: Send
) -> bool:
    """Answer a request; False if there is anything about it for the SDK to refuse or to acknowledge."""
    message, request = checked_message(scope), Request(scope, receive)
    if not isinstance(message, JSONRPCRequest) or (route := _route(server, message, request)) is None:
        return False
    exchange = _Exchange(message, request, send)
    connection = Connection.from_envelope(
        route.protocol_version, route.client_info, route.client_capabilities
    )
    with anyio.CancelScope() as work:
        companions = _Companions(exchange, receive, work.cancel)
        try:
            result = await serve_one(
                server,
                exchange,
                message.method,
                message.params,
                connection=connection,
                lifespan_state=lifespan_state,
            )
            answer: Message = JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
        except Exception as error:
            answer = JSONRPCError(jsonrpc="2.0", id=message.id, error=modern_error_data(error))
        finally:
            companions.stop()
    if not work.cancelled_caught:
        await exchange.end(answer)
    return True


def _route(server: Server[Any], message: JSONRPCRequest, request: Request) -> InboundModernRoute | None:
    """Who asks, if the request is as it should be in every way that the SDK checks."""
    headers = request.headers
    if not headers.get("content-type", "").lower().startswith("application/json"):
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
    """What a handler is given to speak to its client: the SDK's DispatchContext."""

    can_send_request: Final = False

    def __init__(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        self.request_id = message.id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self.transport = TransportContext(
            kind="streamable-http", can_send_request=False, headers=request.headers
        )
        self._request = request
        self._send = send
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
        given = {} if params is None else {"params": dict(params)}
        await self._tell(_event(JSONRPCNotification(jsonrpc="2.0", method=method, **given)))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress_token is None:
            return
        await self.notify(
            "notifications/progress", progress_params(self._progress_token, progress, total, message)
        )

    async def ping(self) -> None:
        await self._tell(b": ping\r\n\r\n")

    async def end(self, answer: Message) -> None:
        async with self._writing:
            self._over = True
            if self._streaming:
                await self._send({"type": "http.response.body", "body": _event(answer), "more_body": False})
                return
        code = answer.error.code if isinstance(answer, JSONRPCError) else 0
        response = Response(encode(answer), ERROR_CODE_HTTP_STATUS.get(code, 200), None, "application/json")
        await response(self._request.scope, self._request.receive, self._send)

    async def _tell(self, text: bytes) -> None:
        async with self._writing:
            if self._over:
                return  # by something that its handler left behind
            if not self._streaming:
                self._streaming = True
                await self._send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


class _Companions:
    """What goes on beside a handler that takes a while: a look at the client, and signs of life for it."""

    def __init__(self, exchange: _Exchange, receive: Receive, cancel: Callable[[], None]) -> None:
        self._exchange = exchange
        self._receive = receive
        self._cancel = cancel
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
            await asyncio.sleep(PING)
            await self._exchange.ping()


def _event(message: Message) -> bytes:
    return b"event: message\r\ndata: " + encode(message) + b"\r\n\r\n"
