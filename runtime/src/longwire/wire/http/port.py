"""The connections of one port, held to their limits."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, deque
from collections.abc import Callable, Container
from contextvars import Context
from typing import Final

from longwire.principals.limits import BUSY, Quota
from longwire.settings import WireLimits
from longwire.wire.http.answers import whole_answer
from longwire.wire.http.connection import LATER, Admission, HttpConnection, PageHeaders
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.messages import RefusedMessage
from longwire.wire.replies import JSON
from longwire.wire.serving import IGNORED, Presence

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
        *,
        presence: Presence = IGNORED,
        refused: Counter[str] | None = None,
        admit: Admission | None = None,
        for_pages: PageHeaders | None = None,
        proxies: Container[str] = (),
    ) -> None:
        """`presence` is told about connections; `refused` counts requests that no handler saw, by reason.

        `proxies` are addresses that many clients come from: no limit of one address holds for them.
        """
        self.handler = handler
        self.admit = admit
        self.for_pages = for_pages
        self.turned_away = _TURNED_AWAY  # what a connection over the limit of its address is told
        self.refused: Counter[str] = Counter() if refused is None else refused
        self.limits = limits
        self.presence = presence
        self._most = most = 4 * limits.max_connections  # a session may have a stream open beside its requests
        # Where all clients are on this machine they have one address, and no limit of one address.
        self._places = Quota(sys.maxsize, sys.maxsize if limits.max_connections_each is None else most // 2)
        self._proxies = proxies
        self._half_open: dict[HttpConnection, None] = {}  # oldest first
        self._with_requests: dict[HttpConnection, None] = {}
        self._bodies: dict[HttpConnection, int] = {}  # those that wait for a body, with its bytes so far
        self._body_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()
        self._ahead: deque[tuple[Callable[[], None], Context]] = deque()

    @property
    def connections(self) -> list[HttpConnection]:
        return [*self._half_open, *self._with_requests]

    def came(self, connection: HttpConnection) -> bool:
        """Take in a new connection, unless its address has too many; whether it is in."""
        if connection in self._half_open:  # since before its TLS handshake
            return True
        address = connection.address
        is_full = self._places.full(address) is not None and address not in self._proxies
        if is_full and not self._end_body(address):
            self.refused[_CONNECTIONS] += 1
            return False
        self._places.take(connection.address)
        self._half_open[connection] = None
        self.presence.came(connection)
        self._watch(len(self._half_open))
        return True

    def lets_in(self, connection: HttpConnection) -> bool:
        """Whether there is a place for a connection that has sent a request; it keeps the place."""
        if connection in self._with_requests:
            return True
        if len(self._with_requests) >= self._most and not (self._end_body() or self._end_idle()):
            return False
        self._half_open.pop(connection, None)
        self._with_requests[connection] = None
        return True

    def keeps(self, connection: HttpConnection, size: int) -> None:
        """Take note that a connection waits for a body of which that many bytes have arrived."""
        if connection not in self._with_requests:  # it had to go
            return
        self._body_bytes += size - self._bodies.get(connection, 0)
        self._bodies[connection] = size
        while self._body_bytes > self.limits.max_body_bytes + self.limits.max_message:
            self._end_body()
        self._watch(len(self._bodies))

    def has_read(self, connection: HttpConnection) -> None:
        """Take note that a connection waits for no body."""
        self._body_bytes -= self._bodies.pop(connection, 0)

    def refuse(self, request: Request, responder: Responder) -> None:
        self.refused[_CONNECTIONS] += 1
        added = () if self.for_pages is None else self.for_pages(request.headers)
        responder.answer(*RefusedMessage(BUSY, _FULL, status=503, headers=[*LATER, *added]).answer)

    def left(self, connection: HttpConnection) -> None:
        if connection not in self._half_open and connection not in self._with_requests:
            return
        self.has_read(connection)
        self._half_open.pop(connection, None)
        self._with_requests.pop(connection, None)
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
