"""One session of Streamable HTTP (protocol versions with a handshake), derived from the SDK's.

A request whose id is still in flight is refused. A call that is over in a moment and has nothing to tell
before is answered as plain JSON, which takes half the work, unless the client would rather have events; all
others get an event stream, with an id to come back with if it breaks. That stream is written by the SDK's own
library and not by events.py, because its queues, priming and replay are the SDK's.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.streamable_http import (
    CONTENT_TYPE_JSON,
    CONTENT_TYPE_SSE,
    MCP_SESSION_ID_HEADER,
    REQUEST_STREAM_BUFFER_SIZE,
    EventMessage,
    SSEEvent,
    StreamableHTTPServerTransport,
    StreamId,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.message import SessionMessage
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from acuity.mcp.wire.event_log import EventLog
from acuity.mcp.wire.http_app import checked_message, refusal
from acuity.mcp.wire.messages import Refused
from acuity.mcp.wire.streams import InFlight, Outbox

if TYPE_CHECKING:
    from acuity.mcp.wire.sdk_private import ReadStream, WriteStream

logger: Final = logging.getLogger(__name__)

MOMENT: Final = 0.1  # seconds that a client goes without an id to come back with


class Session(StreamableHTTPServerTransport):
    """The SDK's session, with requests looked after."""

    def __init__(self, *, event_store: EventLog, origin: str = "", **options: Any) -> None:
        super().__init__(event_store=event_store, **options)
        self.origin = origin  # the token or address that began it
        self._log = event_store
        self._in_flight = InFlight()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being served, and none was left behind by a client that may resume it."""
        return not self._requests_in_flight and not self._in_flight and self.idle_scope is not None

    @property
    def idle_until(self) -> float:
        return self.idle_scope.deadline if self.idle_scope is not None else 0.0

    @asynccontextmanager
    async def connect(
        self,
    ) -> AsyncGenerator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]], None]:
        async with super().connect() as (read, write):
            yield read, Outbox(write.send, self._in_flight, write.aclose)

    async def _handle_post_request(
        self, scope: Scope, request: Request, receive: Receive, send: Send
    ) -> None:
        message = checked_message(scope)
        if not isinstance(message, JSONRPCRequest) or not self._check_content_type(request):
            await super()._handle_post_request(scope, request, receive, send)
            return
        if not await self._validate_accept_header(request, scope, send):
            return
        if message.method != "initialize" and not await self._validate_request_headers(request, send):
            return
        try:
            self._in_flight.begin(message.id)
        except Refused as refused:
            await refusal(refused)(scope, receive, send)
            return
        await self._answer(message, request, send)

    async def _answer(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        """Hand the request to the server, and its answer to the client, in whichever form it takes."""
        name, version = str(message.id), _version(message, request)
        # Stored before anything else of this stream can be, even if it is not needed in the end.
        priming = await self._mint_priming_event(name, version)
        streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
        self._request_streams[name] = streams
        assert self._read_stream_writer is not None
        try:
            await self._read_stream_writer.send(self._create_session_message(message, request, name, version))
            first = None if _prefers_events(request) else await _first(streams[1])
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            first = None  # the session ends
        if first is not None and _is_answer(first):
            await self._clean_up_memory_streams(name)
            self._log.forget(name)  # no client has an event id of it
            await self._create_json_response(first.message)(request.scope, request.receive, send)
        elif self._terminated:
            reason = "the session ended before the request did"
            ended = self._create_error_response(reason, HTTPStatus.NOT_FOUND, INTERNAL_ERROR)
            await ended(request.scope, request.receive, send)
        else:
            leading = [*([priming] if priming else []), *([self._create_event_data(first)] if first else [])]
            await self._stream(name, leading, streams[1], request, send)

    async def _stream(
        self,
        name: StreamId,
        leading: list[SSEEvent],
        events: MemoryObjectReceiveStream[EventMessage],
        request: Request,
        send: Send,
    ) -> None:
        """Answer with events until the request is over or the client gone."""
        to_wire, wire = anyio.create_memory_object_stream[SSEEvent](0)
        write = partial(self._write_events, name, leading, events, to_wire)
        with wire:
            await self._event_response(wire, write)(request.scope, request.receive, send)

    def _event_response(
        self, wire: MemoryObjectReceiveStream[SSEEvent], write: Callable[[], Coroutine[None, None, None]]
    ) -> EventSourceResponse:
        headers = {"Cache-Control": "no-cache, no-transform", "Content-Type": CONTENT_TYPE_SSE}
        if self.mcp_session_id:
            headers[MCP_SESSION_ID_HEADER] = self.mcp_session_id
        return EventSourceResponse(content=wire, data_sender_callable=write, headers=headers)

    async def _write_events(
        self,
        name: StreamId,
        leading: list[SSEEvent],
        events: MemoryObjectReceiveStream[EventMessage],
        to_wire: MemoryObjectSendStream[SSEEvent],
    ) -> None:
        try:
            async with to_wire, events:
                for event in leading:
                    await to_wire.send(event)
                # From here on a tool may end the stream early, for the client to come back: it has its id.
                self._sse_stream_writers[name] = to_wire
                async for found in events:
                    await to_wire.send(self._create_event_data(found))
                    if _is_answer(found):
                        break
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("the stream of request %s was closed", name)
        finally:
            self._sse_stream_writers.pop(name, None)
            await self._clean_up_memory_streams(name)

    async def _replay_events(self, last_event_id: str, request: Request, send: Send) -> None:
        """Send a resuming client the events it missed and those that follow; the SDK's own never ends."""
        to_wire, wire = anyio.create_memory_object_stream[SSEEvent](0)
        with wire:
            write = partial(self._write_missed, last_event_id, to_wire)
            await self._event_response(wire, write)(request.scope, request.receive, send)

    async def _write_missed(self, last_event_id: str, to_wire: MemoryObjectSendStream[SSEEvent]) -> None:
        async def tell(event: EventMessage) -> None:
            await to_wire.send(self._create_event_data(event))

        async with to_wire:
            name = await self._log.replay_events_after(last_event_id, tell)
            if name is None or name in self._request_streams:
                return
            # Nothing is awaited in between, so the next event is either replayed or comes through here.
            streams = anyio.create_memory_object_stream[EventMessage](REQUEST_STREAM_BUFFER_SIZE)
            self._request_streams[name] = streams
            await self._write_events(name, [], streams[1], to_wire)

    async def _terminate_unanswered_request(self, request_id: RequestId) -> None:
        try:
            await super()._terminate_unanswered_request(request_id)
        finally:
            self._log.end(str(request_id))
            self._in_flight.end(request_id)


async def _first(events: MemoryObjectReceiveStream[EventMessage]) -> EventMessage | None:
    """The first event of a request if it comes soon; None as well if its stream was closed."""
    with anyio.move_on_after(MOMENT):
        try:
            return await events.receive()
        except anyio.EndOfStream:
            return None
    return None


def _prefers_events(request: Request) -> bool:
    """Whether the client names event streams before JSON, of which it has to take both."""
    accepted = request.headers.get("accept", "")
    return -1 < accepted.find(CONTENT_TYPE_SSE) < accepted.find(CONTENT_TYPE_JSON)


def _is_answer(event: EventMessage) -> bool:
    return isinstance(event.message, JSONRPCResponse | JSONRPCError)


def _version(message: JSONRPCRequest, request: Request) -> str:
    if message.method == "initialize":
        return str((message.params or {}).get("protocolVersion", DEFAULT_NEGOTIATED_VERSION))
    return request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
