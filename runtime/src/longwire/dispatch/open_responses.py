"""Responses that stay open: kept alive by comments, and ended when the token that opened them ends."""

from __future__ import annotations

import asyncio
from typing import Final, Generic, TypeVar

from longwire.principals.principal import Holders, Principal
from longwire.sessions.streams import Stream
from longwire.wire.http.request import Responder

PING: Final = b": ping\n\n"
_SPARE: Final = 16
_Known = TypeVar("_Known")


class _OpenResponses(Generic[_Known]):
    """Open responses, each with a value. Those that have ended are forgotten now and then."""

    def __init__(self) -> None:
        self._open: dict[Responder, _Known] = {}
        self._most = _SPARE  # with more responses than that, those that have ended are forgotten

    def _add(self, responder: Responder, known: _Known) -> None:
        self._open[responder] = known
        if len(self._open) > self._most:
            self._forget_ended()

    def _forget_ended(self) -> None:
        self._open = {responder: known for responder, known in self._open.items() if not responder.gone}
        self._most = 2 * len(self._open) + _SPARE


class Heartbeats(_OpenResponses[None]):
    """Writes a comment to every open event stream at an interval, so that no proxy takes it for dead."""

    def __init__(self, interval: float) -> None:
        super().__init__()
        self._interval = interval
        self._timer: asyncio.TimerHandle | None = None

    def add(self, responder: Responder) -> None:
        """Keep this stream alive until it ends or its client goes."""
        self._add(responder, None)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat)

    def discard(self, responder: Responder) -> None:
        """Forget a stream whose answer is complete, so that its request is freed."""
        self._open.pop(responder, None)

    def beat(self) -> None:
        """Write a comment to each stream whose client reads, and forget those that have ended."""
        self._forget_ended()
        for responder in self._open:
            if not responder.unsent:
                responder.send(PING)
        self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat) if self._open else None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._open.clear()


class ProvenStreams(_OpenResponses[tuple[Principal, Stream]]):
    """Ends the responses that were opened with a token that is no longer valid. The sessions stay."""

    def add(self, principal: Principal, stream: Stream, responder: Responder) -> None:
        """Watch a response that a stream is attached to, if a token opened it."""
        if principal.proof is not None:
            self._add(responder, (principal, stream))

    def end(self, gone: Holders) -> None:
        """End the responses that were opened with these tokens."""
        for responder, (principal, stream) in list(self._open.items()):
            if gone.include(principal):
                del self._open[responder]
                if not responder.gone:
                    stream.detach()
