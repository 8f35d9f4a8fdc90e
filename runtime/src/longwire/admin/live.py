"""The live feed of the page: server-sent events with the state of the server, each second.

The state is made once for all pages that watch, and not at all while none does. A page that doesn't read is
skipped, so nothing piles up; the next state is complete again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from longwire.admin.queries import HEADERS, AdminRefusal, encoded, refuse
from longwire.principals.principal import Holders, Principal
from longwire.wire.http.request import Request, Responder
from longwire.wire.sse import event

MOST: Final = 16  # who watch at once
PERIOD: Final = 1.0  # seconds


class LiveFeed:
    """The pages that watch, and the timer that runs while there are any."""

    def __init__(self, state: Callable[[], object], period: float = PERIOD) -> None:
        self._state = state
        self._period = period
        self._watching: dict[Responder, Principal] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._watching)

    def handle(self, request: Request, responder: Responder) -> None:
        """Let a page watch."""
        if len(self._watching) >= MOST:
            problem = AdminRefusal(503, f"{MOST} pages watch already, which is the most: close one")
            refuse(responder, problem, [(b"retry-after", b"5")])
            return
        responder.begin_events(HEADERS)
        responder.on_gone(partial(self._left, responder))
        self._watching[responder] = request.principal
        self._send(responder, self._event())
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._period, self._tick)

    def announce(self, kind: bytes, document: object) -> None:
        """Send an event to all pages that watch, now."""
        text = event(encoded(document), kind)
        for responder in list(self._watching):
            self._send(responder, text)

    def end_gone(self, gone: Holders) -> None:
        """End the feeds of those whose tokens are no longer valid."""
        for responder, principal in list(self._watching.items()):
            if gone.include(principal):
                self._left(responder)
                responder.end()

    def close(self) -> None:
        for responder in list(self._watching):
            self._left(responder)
            if not responder.gone:
                responder.end()

    def _event(self) -> bytes:
        return event(encoded(self._state()), b"state")

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._period, self._tick)
        text = self._event()
        for responder in list(self._watching):
            self._send(responder, text)

    def _send(self, responder: Responder, text: bytes) -> None:
        if responder.gone:
            self._left(responder)
        elif not responder.unsent:
            responder.send(text)

    def _left(self, responder: Responder) -> None:
        self._watching.pop(responder, None)
        if not self._watching and self._timer is not None:
            self._timer.cancel()
            self._timer = None
