"""The two message streams between a transport and the SDK, and the ids of requests in flight.

No two requests in flight on a connection have the same id: the SDK keeps them in a table by id, where the
second would take the first one's place, and neither could be cancelled.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import MessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import INVALID_REQUEST, JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from longwire.wire.messages import Message, RefusedMessage


class InFlight:
    """The ids of one connection's or session's unanswered requests. 7 and "7" are one id, as in the SDK."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._ended = anyio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, request_id: object) -> bool:
        ids = self._ids
        return bool(ids) and isinstance(request_id, int | str) and coerce_request_id(request_id) in ids

    def begin(self, request_id: RequestId) -> None:
        """Note a request; RefusedMessage if one with its id is still unanswered.

        That error carries no id: under this one the first request's own answer is still due.
        """
        key = coerce_request_id(request_id)
        if key in self._ids:
            raise RefusedMessage(INVALID_REQUEST, f"a request with the id {request_id!r} is still in flight")
        self._ids.add(key)

    def end(self, request_id: RequestId) -> None:
        """Note that a request was answered, or never will be."""
        self._ids.discard(coerce_request_id(request_id))
        self._ended.set()

    def noted(self, message: Message, metadata: MessageMetadata = None) -> SessionMessage:
        """A message for the server, begun if it is a request; raises RefusedMessage."""
        if not isinstance(message, JSONRPCRequest):
            return SessionMessage(message, metadata)
        self.begin(message.id)
        given = metadata if isinstance(metadata, ServerMessageMetadata) else ServerMessageMetadata()

        async def unanswered() -> None:
            self.end(message.id)

        # A cancelled request is never answered, so its end has to be told otherwise.
        return SessionMessage(message, replace(given, on_request_unanswered=unanswered))

    async def fewer_than(self, number: int) -> None:
        while len(self._ids) >= number:
            if self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()


class Inbox:
    """The stream of incoming messages; a transport looks at its length before it adds one."""

    def __init__(self) -> None:
        self._send, self.stream = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)

    def __len__(self) -> int:
        return self.stream.statistics().current_buffer_used

    def put(self, message: SessionMessage) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody reads any more
            self._send.send_nowait(message)

    def end(self) -> None:
        """Take no more messages; those that wait are still read."""
        self._send.close()

    def close(self) -> None:
        """Take and hand out no more messages."""
        self._send.close()
        self.stream.close()


class Outbox:
    """The stream of outgoing messages as the SDK writes it; an answer ends its request."""

    def __init__(
        self,
        send: Callable[[SessionMessage], Awaitable[None]],
        in_flight: InFlight,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """`send` writes one message to the client, `close` is called when the SDK closes the stream."""
        self._send = send
        self._in_flight = in_flight
        self._close = close

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        try:
            await self._send(item)
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._in_flight.end(message.id)

    async def aclose(self) -> None:
        self._close()

    async def __aenter__(self) -> Outbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
