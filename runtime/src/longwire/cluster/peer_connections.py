"""Connections to other nodes: opened when needed, used for one request at a time, kept for a while.

The receiver of a response is told of it as it arrives, and can have reading paused: nothing is queued here.
"""

from __future__ import annotations

import asyncio
import select
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol, cast
from urllib.parse import urlsplit

from longwire.wire.http.responses import BadResponse, ResponseEnd, ResponseHead, ResponseParser

CONNECT_SECONDS: Final = 2.0  # as long as the lease of a node that is dead
_AT_ONCE: Final = 64  # connections to one node that are being made; more would overflow its queue of new ones
_KEPT_SECONDS: Final = 10.0  # less than a port keeps a connection, so that none is used that is being closed
_MOST_KEPT: Final = 32  # connections to one node


class Unreachable(Exception):
    """No connection could be made: nothing of the request has left this node."""


class Receiver(Protocol):
    """Takes the response to one request, part by part."""

    def head(self, status: int, headers: Mapping[str, str]) -> None: ...
    def data(self, data: bytes) -> None: ...
    def ended(self, whole: bool) -> None: ...


class PeerConnection(asyncio.Protocol):
    """A connection to a node's port for other nodes."""

    def __init__(self, pool: PeerConnections, address: str) -> None:
        self._pool = pool
        self.address = address
        self._parser = ResponseParser()
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._keep_alive = True
        self.kept_since = 0.0

    def send(self, data: bytes, receiver: Receiver) -> None:
        """Send a request; the receiver is told of its response."""
        assert self._transport is not None
        self._receiver = receiver
        self._transport.write(data)

    def pause(self) -> None:
        """Read no more for now; does nothing once the whole response has arrived."""
        if self._transport is not None and self._receiver is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and self._receiver is not None:
            self._transport.resume_reading()

    def abort(self) -> None:
        """Drop the connection; its receiver is told nothing more."""
        self._receiver = None
        self.drop()

    def give_up(self, receiver: Receiver) -> None:
        """Drop the connection, unless the response to this receiver is over."""
        if self._receiver is receiver:
            self.abort()

    def drop(self) -> None:
        """Drop the connection; its receiver is told that it broke."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def usable(self) -> bool:
        """Whether another request may be sent: nothing has arrived, not even the end of the connection.

        The event loop may not have seen that end yet, and a request that is sent then is lost.
        """
        transport = self._transport
        if transport is None or transport.is_closing() or not self._keep_alive:
            return False
        poll = select.poll()
        poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    # ---- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._pool.open.add(self)

    def data_received(self, data: bytes) -> None:
        try:
            for part in self._parser.receive(data):
                if self._receiver is None:  # it gave up, or nothing was asked
                    self.abort()
                    return
                if isinstance(part, ResponseHead):
                    self._keep_alive = part.keep_alive
                    self._receiver.head(part.status, part.headers)
                elif isinstance(part, ResponseEnd):
                    self._over()
                else:
                    self._receiver.data(part)
        except BadResponse:
            receiver, self._receiver = self._receiver, None
            self.abort()
            if receiver is not None:
                receiver.ended(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._pool.lost(self)
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.ended(False)

    def _over(self) -> None:
        receiver, self._receiver = self._receiver, None
        assert self._transport is not None
        assert receiver is not None
        self._transport.resume_reading()  # it may have been paused; does nothing where it was not
        if self._keep_alive and not self._parser.begun:
            self._pool.keep(self)
        else:
            self._transport.close()
        receiver.ended(True)


class PeerConnections:
    """The connections to all other nodes."""

    def __init__(self) -> None:
        self.open: set[PeerConnection] = set()
        self._idle: defaultdict[str, deque[PeerConnection]] = defaultdict(deque)
        self._turns: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))

    async def connect(self, address: str) -> PeerConnection:
        """A connection to http://HOST:PORT that has no request; raises Unreachable."""
        if (kept := self._kept(address)) is not None:
            return kept
        parts = urlsplit(address)
        try:
            async with asyncio.timeout(CONNECT_SECONDS), self._turns[address]:
                if (kept := self._kept(address)) is not None:  # since this one waited for its turn
                    return kept
                _, made = await asyncio.get_running_loop().create_connection(
                    lambda: PeerConnection(self, address), parts.hostname or "", parts.port or 0
                )
        except (OSError, ValueError) as error:  # timeouts raise these too
            raise Unreachable(f"{address} can't be reached: {type(error).__name__}") from None
        return made

    def _kept(self, address: str) -> PeerConnection | None:
        """A connection that was kept and can be used, the one used last."""
        idle = self._idle[address]
        while idle:
            found = idle.pop()
            if found.usable and asyncio.get_running_loop().time() - found.kept_since < _KEPT_SECONDS:
                return found
            found.abort()
        return None

    def keep(self, connection: PeerConnection) -> None:
        """Take back a connection whose request was answered."""
        idle = self._idle[connection.address]
        if len(idle) >= _MOST_KEPT:
            idle.popleft().abort()
        connection.kept_since = asyncio.get_running_loop().time()
        idle.append(connection)

    def lost(self, connection: PeerConnection) -> None:
        self.open.discard(connection)
        with suppress(ValueError):  # it had a request
            self._idle[connection.address].remove(connection)

    def close(self) -> None:
        """Drop all connections; receivers that wait for a response are told that it broke off."""
        for connection in list(self.open):
            connection.drop()
