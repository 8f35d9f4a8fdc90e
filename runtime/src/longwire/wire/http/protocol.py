"""The asyncio side of an HTTP connection: its transport, its deadlines, and its place at the port."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from longwire.wire.http.connection import HttpConnection
from longwire.wire.http.request import Request, Responder

if TYPE_CHECKING:
    from longwire.wire.http.server import Port

_LOOKS: Final = 4  # times that a client is looked after within the time that it may leave its answers unread


class HttpProtocol(HttpConnection, asyncio.Protocol):
    """One connection of a port. It is half open until the head of its first request has arrived."""

    def __init__(self, port: Port, host: str, number: int) -> None:
        """`host` and `number` are of the other end."""
        self._port = port
        self._loop = asyncio.get_running_loop()
        self.address, peer = host, f"{host}:{number}"
        super().__init__(port.limits, host, peer, self._loop.time, port.refused, port.for_pages)
        self._context = copy_context()
        self._transport: asyncio.Transport | None = None
        self._joined: list[bytes] | None = None  # answers to what is just being received, written as one
        self._written = 0  # bytes, ever
        self._arming = False  # whether the timer will be set in the next turn
        self._timer: asyncio.TimerHandle | None = None  # of the deadline
        self._reading: asyncio.TimerHandle | None = None  # looks whether the client reads
        self.shaking_hands: asyncio.Task[None] | None = None  # sets up the transport, and TLS

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.shaking_hands is not None:
            self.shaking_hands.cancel()

    # ---- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        if not self._port.came(self):
            transport.write(self._port.turned_away)
            self.lost()
            transport.close()
            return
        transport.set_write_buffer_limits(1)  # so that writing pauses whenever a client leaves anything
        self._wait("head")
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._reading):
            if timer is not None:
                timer.cancel()
        self._timer = self._reading = None
        self._port.left(self)
        self.lost()

    def data_received(self, data: bytes) -> None:
        if self.closed:
            return
        self._port.presence.heard(self)
        self._turn(self.receive, data)
        if self.waits_for == "body":
            self._port.keeps(self, self.parser.buffered)

    def pause_writing(self) -> None:
        self.full()
        if self._reading is None:
            self._look_after(self._taken, 0)

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self.room()
        self._arm()

    # ---- requests -----------------------------------------------------------------------------

    def admits(self, request: Request, responder: Responder) -> bool:
        checked = self._port.admit
        if not self._admit(request, responder) or (checked is not None and not checked(request, responder)):
            return False
        self._port.keeps(self, 0)
        return True

    def _admit(self, request: Request, responder: Responder) -> bool:
        """Whether there is a place for this connection."""
        if self._port.lets_in(self):
            return True
        self.closing = True
        self._port.refuse(request, responder)
        return False

    def handle(self, request: Request, responder: Responder) -> None:
        self._port.has_read(self)
        if self._admit(request, responder):
            self._port.handler(request, responder)
            self._port.presence.spoke(self, request.session_id or request.client)

    # ---- for the connection -------------------------------------------------------------------

    @property
    def unsent(self) -> int:  # type: ignore[override]
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        if self._joined is not None:
            self._joined.append(data)
            return
        self._written += len(data)
        assert self._transport is not None
        if not self._transport.is_closing():  # asyncio would log each answer to a client that has gone
            self._transport.write(data)
        if not self._arming:  # the connection may wait for another request now
            self._arming = True
            self._loop.call_soon(self._arm)

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def end_writing(self) -> None:
        self._write_joined()
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        self._write_joined()
        if self._transport is not None:
            self._transport.close()

    def soon(self, callback: Callable[[], None]) -> None:
        # Not in the context of the task that has just answered: the next request is no part of it.
        self._port.soon(partial(self._turn, callback), self._context)

    def _turn(self, work: Callable[..., None], *given: bytes) -> None:
        """Let the connection do something; write the answers of that together and see to its deadline."""
        self._joined = []
        self._arming = True  # at the end of this
        try:
            work(*given)
        finally:
            self._write_joined()
            self._arm()

    def _write_joined(self) -> None:
        joined, self._joined = self._joined, None
        if joined:
            self.write(b"".join(joined))

    # ---- deadlines ----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the timer fire by the deadline. One that fires too early sets itself anew."""
        self._arming = False
        deadline = self.deadline
        if deadline == math.inf or (self._timer is not None and self._timer.when() <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._fired)

    def _fired(self) -> None:
        self._timer = None
        if self._loop.time() >= self.deadline:
            self.expire()
        self._arm()

    @property
    def _taken(self) -> int:
        """Bytes that the client has read, ever."""
        return self._written - self.unsent

    def _look_after(self, taken: int, looks: int) -> None:
        """Drop the connection if the client has read nothing for too long."""
        looks = 0 if self._taken != taken else looks
        if looks >= _LOOKS:
            self.abort()
            return
        seconds = self._port.limits.write_timeout / _LOOKS
        self._reading = self._loop.call_later(seconds, self._look_after, self._taken, looks + 1)
