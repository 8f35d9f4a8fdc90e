"""One client's connection: a pair of message streams, served in the protocol era the client opens with."""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse

from acuity.mcp.clients import CONNECTION
from acuity.mcp.transports.in_flight import InFlight
from acuity.mcp.transports.messages import Refused


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
