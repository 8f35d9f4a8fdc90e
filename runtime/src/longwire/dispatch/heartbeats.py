"""Signs of life on event streams: one timer for all of them."""

from __future__ import annotations

import asyncio
from typing import Final

from longwire.wire.http.request import Responder

PING: Final = b": ping\n\n"
_SPARE: Final = 16


class Heartbeats:
    """Writes a comment to every open event stream at an interval, so that no proxy takes it for dead."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._open: set[Responder] = set()
        self._most = _SPARE  # streams, above which those are looked for that have ended
        self._timer: asyncio.TimerHandle | None = None

    def add(self, responder: Responder) -> None:
        """Keep this stream alive until it ends or its client goes."""
        self._open.add(responder)
        if len(self._open) > self._most:
            self._forget_ended()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat)

    def discard(self, responder: Responder) -> None:
        """Forget a stream whose answer is complete; with it goes the request."""
        self._open.discard(responder)

    def beat(self) -> None:
        """Write a comment to each stream whose client reads, and forget those that have ended."""
        self._forget_ended()
        for responder in self._open:
            if not responder.unsent:
                responder.send(PING)
        self._timer = asyncio.get_running_loop().call_later(self._interval, self.beat) if self._open else None

    def _forget_ended(self) -> None:
        """Let go of streams that have ended, and with them of their requests."""
        self._open = {responder for responder in self._open if not responder.gone}
        self._most = 2 * len(self._open) + _SPARE

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._open.clear()
