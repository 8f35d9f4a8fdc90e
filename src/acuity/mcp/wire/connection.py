"""One client's connection: a pair of message streams, served in the protocol era the client opens with.

No two requests in flight on a connection have the same id: the SDK keeps them in a table by id, where the
second would take the first one's place, and neither could be cancelled.
"""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import MessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import INVALID_REQUEST, JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from acuity.mcp.limits import CONNECTION
from acuity.mcp.wire.messages import Message, Refused


class InFlight:
    """The ids of one connection's or session's unanswered requests. 7 and "7" are one id, as in the SDK."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._ended = anyio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, request_id: object) -> bool:
        return (
            bool(self._ids)
            and isinstance(request_id, int | str)
            and coerce_request_id(request_id) in self._ids
        )

    def begin(self, request_id: RequestId) -> None:
        """Note a request; Refused if one with its id is still unanswered.

        That error carries no id: under this one the first request's own answer is still due.
        """
        key = coerce_request_id(request_id)
        if key in self._ids:
            raise Refused(INVALID_REQUEST, f"a request with the id {request_id!r} is still in flight")
        self._ids.add(key)

    def end(self, request_id: RequestId) -> None:
        """Note that it was answered, or never will be."""
        self._ids.discard(coerce_request_id(request_id))
        self._ended.set()

    def noted(self, message: Message, metadata: MessageMetadata = None) -> SessionMessage:
        """A message for the server, begun if it is a request; raises Refused."""
        if not isinstance(message, JSONRPCRequest):
            return SessionMessage(message, metadata)
        self.begin(message.id)
        given = metadata if isinstance(metadata, ServerMessageMetadata) else ServerMessageMetadata()
        # A cancelled request is never answered, so its end has to be told otherwise.
        return SessionMessage(
            message, replace(given, on_request_unanswered=partial(self._unanswered, message.id))
        )

    async def _unanswered(self, request_id: RequestId) -> None:
        self.end(request_id)

    async def fewer_than(self, number: int) -> None:
        """Wait until fewer than that are unanswered."""
        while len(self._ids) >= number:
            if self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()


async def serve_messages(
    server: Server[Any],
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    *,
    name: str,
    lifespan_state: Any,
) -> None:
    """Answer a client until its stream ends. The name tells it from others in queues and logs."""
    CONNECTION.set(name)
    await serve_dual_era_loop(server, read, write, lifespan_state=lifespan_state)


@asynccontextmanager
async def shared_lifespan(server: Server[Any]) -> AsyncIterator[Any]:
    """Enter the server's lifespan once, for all connections of all transports.

    The SDK enters it for each connection of some transports and for each manager of others; until the block
    ends, they all get the state made here.
    """
    enter = server.lifespan
    async with enter(server) as state:

        @asynccontextmanager
        async def entered(_: Server[Any]) -> AsyncIterator[Any]:
            yield state

        server.lifespan = entered
        try:
            yield state
        finally:
            server.lifespan = enter


class Answers:
    """The stream of outgoing messages: an answer ends its request."""

    def __init__(self, inner: WriteStream[SessionMessage], in_flight: InFlight) -> None:
        self._inner = inner
        self._in_flight = in_flight

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        try:
            await self._inner.send(item)
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._in_flight.end(message.id)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Answers:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Requests:
    """The stream of incoming messages, without requests whose id is in use; those are answered here."""

    def __init__(
        self,
        inner: ReadStream[SessionMessage | Exception],
        write: WriteStream[SessionMessage],
        in_flight: InFlight,
    ) -> None:
        self._inner = inner
        self._write = write
        self._in_flight = in_flight

    @property
    def last_context(self) -> contextvars.Context | None:
        """What the SDK runs a message's handler in."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item = await self._inner.receive()
            if not isinstance(item, SessionMessage):
                return item
            try:
                return self._in_flight.noted(item.message, item.metadata)
            except Refused as refused:
                await self._write.send(SessionMessage(refused.answer()))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Requests:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Requests:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
