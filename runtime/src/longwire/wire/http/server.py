"""A handler on a TCP port, over HTTP or HTTPS, inside the server's own event loop.

The event loops' own servers won't do. That of uvloop accepts one connection in each turn of the loop, so that
a client that comes after two hundred others waits for two hundred turns. And no loop's server reports a
client before its TLS handshake is over, so clients that begin none could not be counted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Final

import anyio

from longwire.principals.limits import BUSY, Quota
from longwire.settings import WireLimits
from longwire.wire.http.answers import whole_answer
from longwire.wire.http.connection import LATER, Admission, PageHeaders
from longwire.wire.http.protocol import HttpProtocol
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.routes import JSON, refuse
from longwire.wire.listeners import Address, bind, bound
from longwire.wire.messages import RefusedMessage
from longwire.wire.serving import IGNORED, Presence
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

_GRACE: Final = 0.25  # seconds in which a new connection's head is surely read, if it was sent
_AHEAD_IN_A_TURN: Final = 4  # requests that were sent ahead, of all connections
_CONNECTIONS: Final = "connections"  # the reason, for counters
_FULL: Final = "too many clients are connected already: try again later"
_TOO_MANY: Final = "too many connections of this address are open: close some"
_SLOW: Final = "others need the place of this request, whose body has not arrived: send it again, at once"
_TURNED_AWAY: Final = whole_answer(
    503, RefusedMessage(BUSY, _TOO_MANY).payload, JSON, [*LATER, (b"connection", b"close")], b""
)


class Port:
    """The connections of one port.

    A connection takes its place before it has said anything, so a few clients that say nothing could take
    every one. Those that have not sent a whole request head are therefore counted apart: their number is
    bounded, the oldest make room for new ones, and clients with requests don't notice. The same holds for
    those whose body has not arrived, and for the bytes of such bodies together. Where the places for clients
    with requests are taken, the oldest of these makes room, then one that waits for its next request.
    """

    def __init__(
        self,
        handler: Handler,
        limits: WireLimits,
        presence: Presence,
        refused: Counter[str] | None = None,
        admit: Admission | None = None,
        for_pages: PageHeaders | None = None,
        proxies: Container[str] = (),
    ) -> None:
        """`proxies` are addresses that many clients come from: no limit of one address holds for them."""
        self.handler = handler
        self.admit = admit
        self.for_pages = for_pages
        self.turned_away = _TURNED_AWAY  # what a connection over the limit of its address is told
        self.refused: Counter[str] = Counter() if refused is None else refused  # requests, by reason
        self.limits = limits
        self.presence = presence
        self._most = most = 4 * limits.max_connections  # a session may have a stream open beside its requests
        # Where all clients are on this machine they have one address, and no limit of one address.
        self._places = Quota(sys.maxsize, sys.maxsize if limits.max_connections_each is None else most // 2)
        self._proxies = proxies
        self._half_open: dict[HttpProtocol, None] = {}  # oldest first
        self._with_requests: dict[HttpProtocol, None] = {}
        self._bodies: dict[
            HttpProtocol, int
        ] = {}  # those of them that wait for a body, with its bytes so far
        self._body_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()
        self._ahead: deque[tuple[Callable[[], None], Context]] = deque()

    @property
    def connections(self) -> list[HttpProtocol]:
        return [*self._half_open, *self._with_requests]

    def came(self, connection: HttpProtocol) -> bool:
        """Take in a new connection, unless its address has too many; whether it is in."""
        if connection in self._half_open:  # since before its TLS handshake
            return True
        address = connection.address
        if (
            self._places.full(address) is not None
            and address not in self._proxies
            and not self._end_body(address)
        ):
            self.refused[_CONNECTIONS] += 1
            return False
        self._places.take(connection.address)
        self._half_open[connection] = None
        self.presence.came(connection)
        self._watch(len(self._half_open))
        return True

    def lets_in(self, connection: HttpProtocol) -> bool:
        """Whether there is a place for a connection that has sent a request; it keeps the place."""
        if connection in self._with_requests:
            return True
        if len(self._with_requests) >= self._most and not (self._end_body() or self._end_idle()):
            return False
        self._half_open.pop(connection, None)
        self._with_requests[connection] = None
        return True

    def keeps(self, connection: HttpProtocol, size: int) -> None:
        """Take note that a connection waits for a body of which that many bytes have arrived."""
        if connection not in self._with_requests:  # it had to go
            return
        self._body_bytes += size - self._bodies.get(connection, 0)
        self._bodies[connection] = size
        while self._body_bytes > self.limits.max_body_bytes + self.limits.max_message:
            self._end_body()
        self._watch(len(self._bodies))

    def has_read(self, connection: HttpProtocol) -> None:
        """Take note that a connection waits for no body."""
        self._body_bytes -= self._bodies.pop(connection, 0)

    def refuse(self, request: Request, responder: Responder) -> None:
        self.refused[_CONNECTIONS] += 1
        added = () if self.for_pages is None else self.for_pages(request.headers)
        refuse(responder, RefusedMessage(BUSY, _FULL), 503, [*LATER, *added])

    def left(self, connection: HttpProtocol) -> None:
        held = (self._half_open, self._with_requests)
        if not any(connection in places for places in held):
            return
        self.has_read(connection)
        for places in held:
            places.pop(connection, None)
        self._places.give_back(connection.address)
        self.presence.left(connection)
        self._changed.set()

    def drop_half_open(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._half_open):
            connection.abort()

    def soon(self, work: Callable[[], None], context: Context) -> None:
        """Do what connections have to do for requests that were sent ahead: a few in each turn of the loop.

        Between them the loop looks for new connections, and for requests of those who wait for their answers.
        """
        if not self._ahead:
            asyncio.get_running_loop().call_soon(self._let_some_go)
        self._ahead.append((work, context))

    def _let_some_go(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(min(len(self._ahead), _AHEAD_IN_A_TURN)):
            work, context = self._ahead.popleft()
            loop.call_soon(work, context=context)
        if self._ahead:
            loop.call_soon(self._let_some_go)

    async def empty(self) -> None:
        while self._half_open or self._with_requests:
            self._changed.clear()
            await self._changed.wait()

    def _end_body(self, address: str | None = None) -> bool:
        """End the oldest connection, of that address if one is given, that waits for a body."""
        slow = next((found for found in self._bodies if address in (None, found.address)), None)
        if slow is None:
            return False
        self.left(slow)
        slow.give_way(_SLOW)
        return True

    def _end_idle(self) -> bool:
        """End the oldest connection that waits for its next request; whether there was one."""
        idle = next((found for found in self._with_requests if found.waits_for == "request"), None)
        if idle is None:
            return False
        self.left(idle)
        idle.finish()
        return True

    def _watch(self, number: int) -> None:
        """Drop connections soon if that many of a kind are too many.

        Not at once: connections are accepted by the dozen, and what came with them is read next.
        """
        if number > self.limits.max_connections and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GRACE, self._drop_oldest)

    def _drop_oldest(self) -> None:
        self._timer = None
        surplus = max(len(self._half_open) - self.limits.max_connections, 0)
        for connection in list(self._half_open)[:surplus]:
            connection.abort()
        while len(self._bodies) > self.limits.max_connections:
            self._end_body()


_AT_ONCE: Final = 64  # connections that are accepted in one turn of the loop
_GOODBYE: Final = 2.0  # seconds for the end of a TLS connection
_PAUSE: Final = 0.5  # seconds after an error such as that there are too many open files
_FLUSH: Final = 0.5  # seconds for the last answers to be written
_LOOK: Final = 0.01  # seconds between looks whether they were
_CLOSING: Final = 1.0  # seconds for connections to go once their requests have ended


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
        for end in (HttpProtocol.stop, HttpProtocol.abort):
            for connection in self._port.connections:
                end(connection)
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
    handler: Handler,
    address: Address,
    limits: WireLimits,
    *,
    admit: Admission | None = None,
    for_pages: PageHeaders | None = None,
    presence: Presence = IGNORED,
    listener: socket.socket | None = None,
    tls: ssl.SSLContext | None = None,
    refused: Counter[str] | None = None,
    proxies: Container[str] = (),
) -> AsyncIterator[HttpEndpoint]:
    """Serve a handler until the block ends; raises SettingsError where the address can't be used.

    `admit` decides by a request's head whether its body is read; `for_pages` gives the headers that let a
    page read a refusal; `presence` is told about connections; a `listener` is bound to the address already;
    `refused` counts requests that no handler saw, by reason; `proxies` are the addresses of those who connect
    for many clients.
    """
    port = Port(handler, limits, presence, refused, admit, for_pages, proxies)
    endpoint = HttpEndpoint(listener or bind(address), port, tls)
    try:
        yield endpoint
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.stop()
