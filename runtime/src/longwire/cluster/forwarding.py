"""Passing requests on to the node that has their session, and its answers back, as they come.

The answer is read no faster than the client takes it, and either side that leaves takes the other with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Final, TypeAlias

from longwire.cluster.nodes import NodeStatus
from longwire.cluster.peer_connections import PeerConnection, PeerConnections, Unreachable
from longwire.cluster.signatures import FORWARDED, PREFIX, Signatures, passed_headers
from longwire.principals.principal import Holders
from longwire.settings import WireLimits
from longwire.wire.http.request import REQUEST_ID, HeaderList, Request, Responder

logger: Final = logging.getLogger(__name__)

REFUSED: Final = "longwire-refused"  # in an answer: the node has not looked at the request, and why
_HEAD_SECONDS: Final = 10.0  # for the head of an answer; longer calls answer with events long before
_LOOK_SECONDS: Final = 2.0  # of silence, after which Redis is asked whether the other node lives
_AHEAD: Final = 64 << 10  # bytes that a client has not taken, above which no more are read
_EVENTS: Final = "text/event-stream"
# Headers that the answer of this node has by itself.
_OWN: Final = frozenset(
    {"connection", "keep-alive", "content-length", "content-type", "date", "transfer-encoding", REQUEST_ID}
)
_ELSEWHERE: Final = frozenset({"moved", "misdirected"})  # reasons to look again where the session is
_OF_EVENTS: Final = frozenset({"cache-control", "x-accel-buffering"})


# Whether a node lives, as far as is known.
Lives: TypeAlias = Callable[[NodeStatus], Awaitable[bool]]


class Outcome(Enum):
    """What became of a request that was passed on."""

    ANSWERED = "answered"  # or its client has gone
    UNREACHABLE = "unreachable"  # nothing of it has left this node
    REJECTED = "rejected"  # the other node doesn't trust this one
    MOVED = "moved"  # the other node says that the session isn't there
    LOST = "lost"  # the connection broke before an answer: nobody knows whether it was carried out
    SILENT = "silent"  # no answer in time
    UNUSABLE = "unusable"  # an answer that can't be passed on


class Forwarder:
    """Passes requests on, each signed for one node."""

    def __init__(self, signatures: Signatures, limits: WireLimits, lives: Lives) -> None:
        self._signatures = signatures
        self._limits = limits
        self._lives = lives
        self._connections = PeerConnections()
        self._under_way: set[Passage] = set()

    async def pass_on(self, request: Request, responder: Responder, place: NodeStatus) -> Outcome:
        """Have a node answer a request. Where the outcome isn't ANSWERED, the responder is untouched."""
        try:
            connection = await self._connections.connect(place.address)
        except Unreachable as error:
            logger.debug("%s", error, extra={"event": "peer_unreachable", "peer": place.label})
            return Outcome.UNREACHABLE
        request.headers = {**request.headers, REQUEST_ID: request.id}  # the other node's lines have the same
        passage = Passage(request, responder, connection, self._limits)
        self._under_way.add(passage)
        try:
            passage.begin(self._wire(request, place))
            await self._watch(passage, place)
            return passage.outcome.result()
        finally:
            self._under_way.discard(passage)
            passage.close()

    async def _watch(self, passage: Passage, place: NodeStatus) -> None:
        """Wait for the outcome. A machine that is cut off ends no connection, so silence is looked into."""
        while not passage.outcome.done():
            await asyncio.wait([passage.outcome], timeout=_LOOK_SECONDS)
            if not passage.outcome.done() and passage.silence >= _LOOK_SECONDS:
                if not await self._lives(place):
                    passage.ended(False)
                else:
                    passage.look()

    def end_gone(self, gone: Holders) -> None:
        """End the requests under way of principals whose tokens are no longer valid."""
        for passage in list(self._under_way):
            if gone.include(passage.request.principal):
                passage.cut_short()

    def close(self) -> None:
        self._connections.close()

    def _wire(self, request: Request, place: NodeStatus) -> bytes:
        """The bytes of a request to another node."""
        target = f"{request.path}?{request.query}" if request.query else request.path
        headers = passed_headers(request.headers)
        headers["host"] = place.address.partition("://")[2]
        headers["content-length"] = str(len(request.body))
        headers[FORWARDED] = self._signatures.header(request, place.label, place.incarnation)
        lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
        return f"{request.method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + request.body


class Passage:
    """One request at another node, and the way back of its answer. The receiver of a connection."""

    def __init__(
        self, request: Request, responder: Responder, connection: PeerConnection, limits: WireLimits
    ) -> None:
        self.request = request
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._responder = responder
        self._connection = connection
        self._most = limits.max_body_bytes
        self._longest = 3 * limits.heartbeat + 5.0  # seconds; a stream that lives has a heartbeat
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._body = bytearray()  # of an answer, or of an event that is not complete
        self._streams = False
        self._paused = False
        self._clock = asyncio.get_running_loop().time
        self._heard = self._clock()

    def begin(self, wire: bytes) -> None:
        self._responder.on_gone(self.close)
        self._responder.on_room(self._room)
        if self._responder.gone:
            self.close()
        else:
            self._connection.send(wire, self)

    def close(self) -> None:
        """Drop what is left: the client has gone, or the task was cancelled."""
        self._end(Outcome.ANSWERED)

    @property
    def silence(self) -> float:
        """Seconds since the other node was heard; 0 while reading is paused for a slow client."""
        return 0.0 if self._paused else self._clock() - self._heard

    def look(self) -> None:
        """Give up an answer without a sign of life, although its node lives."""
        if self.silence > (self._longest if self._streams else _HEAD_SECONDS):
            self._break_off(Outcome.SILENT)

    def cut_short(self) -> None:
        """End a stream of events now; any other answer arrives in a moment, or becomes a stream."""
        if self._streams:
            self._break_off(Outcome.ANSWERED)

    # ---- the receiver -------------------------------------------------------------------------

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        self._heard = self._clock()
        self._status, self._headers = status, headers
        if status == 200 and headers.get("content-type", "").startswith(_EVENTS):
            self._streams = True
            self._responder.begin_events(self._passed(_OWN | _OF_EVENTS))

    def data(self, data: bytes) -> None:
        self._heard = self._clock()
        before = len(self._body)
        self._body += data
        if self._streams:
            self._send_events(max(before - 1, 0))
        if len(self._body) > self._most:
            self._break_off(Outcome.UNUSABLE)

    def _send_events(self, start: int) -> None:
        """Write the events that are complete, so that none ends in its midst if the other node does."""
        end = self._body.rfind(b"\n\n", start) + 2
        if end < 2:
            return
        self._responder.send(bytes(self._body[:end]))
        del self._body[:end]
        if self._responder.unsent > _AHEAD and not self._paused:
            self._paused = True
            self._connection.pause()

    def ended(self, whole: bool) -> None:
        """Note that the response is over; not whole: the connection broke, or made no sense."""
        if self.outcome.done():
            return
        if self._streams or not whole:
            # The client of a stream comes back with the id of the last event that it has whole.
            self._break_off(Outcome.LOST)
        elif (refused := self._headers.get(REFUSED)) is not None:
            self.outcome.set_result(Outcome.MOVED if refused in _ELSEWHERE else Outcome.REJECTED)
        else:
            kind = self._headers.get("content-type", "").encode("latin-1")
            self._responder.answer(self._status, bytes(self._body), kind, self._passed(_OWN))
            self.outcome.set_result(Outcome.ANSWERED)

    # ---- the client and the clock -------------------------------------------------------------

    def _room(self) -> None:
        if self._paused:
            self._paused = False
            self._heard = self._clock()
            self._connection.resume()

    def _break_off(self, outcome: Outcome) -> None:
        """End a stream of events as it is, or give up any other answer with this outcome."""
        if self._streams:
            self._responder.end()
        self._end(Outcome.ANSWERED if self._streams else outcome)

    def _end(self, outcome: Outcome) -> None:
        """Drop the connection, if it is in the midst of this answer."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)
            self._connection.give_up(self)

    def _passed(self, own: frozenset[str]) -> HeaderList:
        """The headers of the answer that go to the client."""
        return [
            (name.encode(), value.encode("latin-1"))
            for name, value in self._headers.items()
            if name not in own and not name.startswith(PREFIX)
        ]
