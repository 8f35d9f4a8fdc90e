"""Server-sent events: how they are written, and those that wait for one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse
from starlette.types import Send

from acuity.mcp.wire.connection import InFlight
from acuity.mcp.wire.messages import encode

HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_HEARTBEAT: Final = b": still here\n\n"


def event(data: bytes, kind: bytes = b"message", number: int | None = None) -> bytes:
    """An event. JSON as it is written here has no line ends of its own."""
    assert b"\n" not in data
    assert b"\r" not in data
    head = b"" if number is None else b"id: %d\n" % number
    return b"%bevent: %b\ndata: %b\n\n" % (head, kind, data)


class EventStream:
    """Messages for one stream, numbered; as many wait as there is room for, and then their senders do."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting: deque[bytes] = deque()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._ended = False
        self._number = 0

    def offer(self, payload: bytes) -> bool:
        """Add a message if there is room for it."""
        if self._ended or len(self._waiting) >= self._room:
            return False
        self._number += 1
        self._waiting.append(event(payload, number=self._number))
        self._filled.set()
        return True

    async def add(self, payload: bytes) -> None:
        """Add a message as soon as there is room."""
        while not self.offer(payload):
            if self._ended:
                raise anyio.BrokenResourceError
            self._emptied.clear()
            await self._emptied.wait()

    def end(self) -> None:
        """Take no more; what waits is still written."""
        self._ended = True
        self._filled.set()
        self._emptied.set()

    async def write(self, send: Send, heartbeat: float) -> None:
        """Write what comes until the end, with a sign of life whenever nothing has come for a while."""
        while True:
            chunk = _HEARTBEAT
            with anyio.move_on_after(heartbeat):
                await self._filled.wait()
                self._filled.clear()
                chunk = b"".join(self._waiting)
                self._waiting.clear()
                self._emptied.set()
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if self._ended and not self._waiting:
                return


class StreamOutbox:
    """The stream of outgoing messages as the SDK writes it, onto a stream of events."""

    def __init__(self, stream: EventStream, in_flight: InFlight) -> None:
        self._stream = stream
        self._in_flight = in_flight

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        try:
            await self._stream.add(encode(message))
        finally:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                self._in_flight.end(message.id)

    async def aclose(self) -> None:
        self._stream.end()

    async def __aenter__(self) -> StreamOutbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
