"""Responses that stay open: kept alive by comments, and ended when the token that opened them ends."""

from __future__ import annotations

import asyncio
from typing import Final

from longwire.principals.principal import Holders, Principal
from longwire.sessions.streams import Stream
from longwire.wire.http.request import Responder

PING: Final = b": ping\n\n"
_SPARE: Final = 16


class OpenResponses:
    """Event streams. A comment is written to each at an interval, so that no proxy takes it for dead."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._timer: asyncio.TimerHandle | None = None
        self._open: dict[Responder, tuple[Principal, Stream] | None] = {}
        self._most = _SPARE  # with more responses than that, those that have ended are forgotten

    def add(self, responder: Responder, opener: tuple[Principal, Stream] | None = None) -> None:
        """Keep this one alive until it ends or its client goes.

        With an `opener` it also ends with the token of that principal; its session stays.
        """
        self._open[responder] = opener
        if len(self._open) > self._most:
            self._forget_ended()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat)

    def discard(self, responder: Responder) -> None:
        """Forget a stream whose answer is complete, so that its request is freed."""
        self._open.pop(responder, None)

    def end_gone(self, gone: Holders) -> None:
        """End the responses that were opened with these tokens."""
        for responder, opener in list(self._open.items()):
            if opener is not None and opener[0].proof is not None and gone.include(opener[0]):
                del self._open[responder]
                if not responder.gone:
                    opener[1].detach()

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

    def _forget_ended(self) -> None:
        self._open = {responder: opener for responder, opener in self._open.items() if not responder.gone}
        self._most = 2 * len(self._open) + _SPARE
