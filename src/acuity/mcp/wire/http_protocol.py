"""HTTP/1.1 connections: uvicorn's own, with more deadlines, a bound on half-open ones, and fewer packets.

A client that stops reading would stall its session for good, and one that never finishes its request would
keep its place. Connections that have not sent a whole request head are half open: there may be so many of
them, the oldest make room for new ones, and clients with requests don't notice. An answer's head and body are
written together, not one after the other.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

# h11, not httptools: that one leaves blanks at the end of header values, which then differ from the body's.
from uvicorn.protocols.http.h11_impl import H11Protocol

from acuity.mcp.limits import Quota

_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n"
    b"retry-after: 5\r\nconnection: close\r\n\r\n"
    b"too many connections of this address are open: close some\n"
)
REQUEST_TIMEOUT: Final = 30.0  # seconds for a whole request to arrive
HEAD_TIMEOUT: Final = 10.0  # seconds for the first request's head
_GRACE: Final = 0.25  # seconds in which a new connection's head is surely read, if it was sent


class HalfOpen:
    """The connections of one endpoint that have not sent a whole request head, oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[asyncio.Protocol, asyncio.Transport] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __contains__(self, connection: object) -> bool:
        return connection in self._waiting

    def add(self, connection: asyncio.Protocol, transport: asyncio.Transport) -> None:
        self._waiting[connection] = transport
        # Not at once: connections are accepted by the dozen, and the heads that came with them are read next.
        if len(self._waiting) > self._most and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GRACE, self._drop_oldest)

    def discard(self, connection: asyncio.Protocol) -> None:
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Drop all of them."""
        if self._timer is not None:
            self._timer.cancel()
        for transport in list(self._waiting.values()):
            transport.abort()

    def _drop_oldest(self) -> None:
        self._timer = None
        for connection in list(self._waiting)[: max(len(self._waiting) - self._most, 0)]:
            self._waiting.pop(connection).abort()


def protocol_with(
    half_open: HalfOpen,
    write_timeout: float,
    request_timeout: float = REQUEST_TIMEOUT,
    places: Quota | None = None,
) -> type[H11Protocol]:
    """The class of connections that are dropped after these many seconds.

    `places` is how many there may be, in all and of one address: a connection takes its place before it has
    said anything, so a few clients that say nothing could otherwise take every one.
    """

    class Impatient(H11Protocol):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._request = _Deadline(request_timeout)
            self._head = _Deadline(min(HEAD_TIMEOUT, request_timeout))
            self._write = _Deadline(write_timeout)
            self._holder: str | None = None  # of a place
            self._turned_away = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if places is not None:
                peer = transport.get_extra_info("peername")
                holder = str(peer[0]) if isinstance(peer, tuple) else "unknown"
                if places.full(holder) == "each":  # uvicorn itself counts them all
                    self._turned_away = True
                    transport.write(_TOO_MANY)
                    transport.close()
                    return
                self._holder = holder
                places.take(holder)
            super().connection_made(_Together(transport))
            self.connections.discard(self)  # uvicorn's limit is for those with requests
            half_open.add(self, transport)
            self._head.begin(transport)
            self._request.begin(transport)

        def has_head(self) -> None:
            """The head of a request was read."""
            if self in half_open:
                half_open.discard(self)
                self._head.end()
                self.connections.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._turned_away:
                return
            if places is not None and self._holder is not None:
                places.give_back(self._holder)
            half_open.discard(self)
            self._head.end()
            self._request.end()
            self._write.end()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._turned_away:
                return
            super().data_received(data)
            if self.cycle is not None:
                self.has_head()
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                self._request.begin(self.transport)  # it has only begun
            else:
                self._request.end()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._write.begin(self.transport)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._write.end()

    return Impatient


class _Together(asyncio.Transport):
    """A transport that writes what it is given within one turn of the event loop at once."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self._inner = inner
        self._pending: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append(bytes(data))

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def _flush(self) -> None:
        if self._pending:
            data, self._pending = b"".join(self._pending), []
            self._inner.write(data)

    def abort(self) -> None:
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)


class _Deadline:
    """Drops a connection unless something ends in time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        if self._timer is None:
            # Not close(): that waits until everything is written, which is what doesn't happen.
            self._timer = asyncio.get_running_loop().call_later(self._seconds, transport.abort)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
