"""A handler on a TCP port, over HTTP or HTTPS, inside the server's own event loop.

The event loops' own servers won't do. That of uvloop accepts one connection in each turn of the loop, so that
a client that comes after two hundred others waits for two hundred turns. And no loop's server reports a
client before its TLS handshake is over, so clients that begin none could not be counted.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Final, cast

import anyio

from longwire.wire.http.connection import HttpConnection
from longwire.wire.http.port import Port
from longwire.wire.http.request import Request, Responder
from longwire.wire.listeners import Address, bind, bound
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

_LOOKS: Final = 4  # times that a client is looked after within the time that it may leave its answers unread
_AT_ONCE: Final = 64  # connections that are accepted in one turn of the loop
_GOODBYE: Final = 2.0  # seconds for the end of a TLS connection
_PAUSE: Final = 0.5  # seconds after an error such as that there are too many open files
_FLUSH: Final = 0.5  # seconds for the last answers to be written
_LOOK: Final = 0.01  # seconds between looks whether they were
_CLOSING: Final = 1.0  # seconds for connections to go once their requests have ended


class HttpProtocol(HttpConnection, asyncio.Protocol):
    """One connection of a port. It is half open until the head of its first request has arrived."""

    def __init__(self, port: Port, host: str, number: int) -> None:
        """`host` and `number` are of the other end."""
        self._port = port
        self._loop = asyncio.get_running_loop()
        peer = f"{host}:{number}"
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


class HttpEndpoint:
    """A listening socket whose clients get a connection of the port, with TLS after their handshake."""

    def __init__(self, listener: socket.socket, port: Port, tls: ssl.SSLContext | None) -> None:
        self.address = bound(listener)  # with the port that was chosen
        self._listener = listener
        self._port = port
        self._tls = tls
        self._tasks = RunningTasks()
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.TimerHandle | None = None
        self._listen()

    def close(self) -> None:
        """Take no more connections; those there are go on until they have had one more answer."""
        if self._listener.fileno() >= 0:
            if self._again is not None:
                self._again.cancel()
            self._loop.remove_reader(self._listener)
            self._listener.close()
        for connection in self._port.connections:
            connection.closing = True

    async def stop(self) -> None:
        """Give POSTs a moment to be answered, then end all requests. Has nothing to do a second time."""
        self.close()
        self._port.drop_half_open()
        with anyio.move_on_after(_FLUSH):
            while any(one.request and one.request.method == "POST" for one in self._port.connections):
                await asyncio.sleep(_LOOK)
        for gently in (True, False):
            for connection in self._port.connections:
                (connection.stop if gently else connection.abort)()
            with anyio.move_on_after(_CLOSING):
                await self._port.empty()
        await self._tasks.end()  # handshakes that are under way

    def _listen(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                client, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("can't accept a connection: %s", error.strerror, extra={"event": "accept"})
                self._loop.remove_reader(self._listener)
                self._again = self._loop.call_later(_PAUSE, self._listen)
                return
            client.setblocking(False)
            connection = HttpProtocol(self._port, *peer[:2])
            # Without TLS they are counted when their connection is made, and are told.
            if self._tls is not None and not self._port.came(connection):
                client.close()
                continue
            connection.shaking_hands = self._tasks.spawn(self._connect(client, connection))

    async def _connect(self, client: socket.socket, connection: HttpProtocol) -> None:
        """Set up the connection, with TLS if wanted; a client that fails or takes too long is dropped."""
        timed = self._tls is not None  # asyncio takes seconds for TLS only
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=self._port.limits.head_timeout if timed else None,
                ssl_shutdown_timeout=_GOODBYE if timed else None,
            )
        except OSError as error:  # TLS and timeouts raise these too
            self._port.left(connection)
            if isinstance(error, ConnectionAbortedError):  # it took too long
                self._port.refused["slow"] += 1
        except asyncio.CancelledError:
            self._port.left(connection)
            raise
        finally:
            connection.shaking_hands = None


@asynccontextmanager
async def serve_http(
    port: Port, address: Address, *, listener: socket.socket | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HttpEndpoint]:
    """Serve a port until the block ends; raises SettingsError where the address can't be used.

    A `listener` is bound to the address already.
    """
    endpoint = HttpEndpoint(listener or bind(address), port, tls)
    try:
        yield endpoint
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.stop()
