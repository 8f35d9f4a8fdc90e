"""Large messages take turns, so that a client that sends many keeps no other waiting for long.

Parsing holds the event loop (and Python's lock, so a thread would not help). Large messages are therefore
handled one at a time, those of all principals in turn, and then the loop is free for as long as they took.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Final, NamedTuple

from longwire.principals.limits import BUSY
from longwire.wire.http.request import Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import answer_text
from longwire.wire.messages import RefusedMessage

logger: Final = logging.getLogger(__name__)

LARGE: Final = 2 << 10  # bytes above which a message takes turns; others are parsed in 0.05 ms
MOST_WAITING_EACH: Final = 16 << 20  # bytes of one principal, beside one message
MOST_WAITING: Final = 64 << 20  # bytes of all
_SPELL: Final = 0.002  # seconds after which the loop has its rest
_LATER: Final[HeaderList] = [(b"retry-after", b"1")]
_FULL: Final = "too many large messages wait to be read: wait for the answers to some"


def _refuse_full(_: Request, responder: Responder) -> None:
    responder.answer(*RefusedMessage(BUSY, _FULL, status=429, headers=_LATER).answer)


class _Waiting(NamedTuple):
    request: Request
    responder: Responder
    handler: Handler
    context: Context


class Turns:
    """The large messages that wait, by principal."""

    def __init__(
        self,
        later: Callable[[float, Callable[[], None]], object] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`later` calls a function after so many seconds, if not the event loop."""
        self._later = later
        self._clock = clock
        self._queues: dict[str, deque[_Waiting]] = {}  # the one whose turn it is first
        self._bytes: Counter[str] = Counter()
        self._busy = False

    def handler(self, inner: Handler, refused: Counter[str]) -> Handler:
        """The same handler; requests with large bodies come to it in turn. `refused` counts the others."""

        def handle(request: Request, responder: Responder) -> None:
            if len(request.body) <= LARGE:
                inner(request, responder)
            elif not self._busy:
                self._busy, begin = True, self._clock()
                try:
                    inner(request, responder)
                finally:
                    self._rest(begin)
            elif self._has_room(request):
                self._queue(_Waiting(request, responder, inner, copy_context()))
            else:  # a refusal waits too, or the client would send the next one at once
                refused["calls"] += 1
                request.body = b""
                self._queue(_Waiting(request, responder, _refuse_full, copy_context()))

        return handle

    def _has_room(self, request: Request) -> bool:
        mine = self._bytes[request.principal.key]
        total = self._bytes.total() + len(request.body)
        return not mine or (mine + len(request.body) <= MOST_WAITING_EACH and total <= MOST_WAITING)

    def _queue(self, waiting: _Waiting) -> None:
        key = waiting.request.principal.key
        self._queues.setdefault(key, deque()).append(waiting)
        self._bytes[key] += len(waiting.request.body)

    def _rest(self, begin: float) -> None:
        later = self._later or asyncio.get_running_loop().call_later
        later(self._clock() - begin, self._next)

    def _next(self) -> None:
        """Handle those whose turn it is: one, or some small ones."""
        if not self._queues:
            self._busy = False
            return
        begin = self._clock()
        while self._queues and self._clock() - begin < _SPELL:
            waiting = self._pop()
            try:
                if not waiting.responder.gone:
                    waiting.context.run(waiting.handler, waiting.request, waiting.responder)
            except Exception:  # where a message didn't wait, its connection handles this
                logger.exception("the handler of %s %s failed", waiting.request.method, waiting.request.path)
                with suppress(RuntimeError):  # the answer has begun
                    answer_text(waiting.responder, 500, "the server failed: its log says why")
        self._rest(begin)

    def _pop(self) -> _Waiting:
        key = next(iter(self._queues))
        queue = self._queues.pop(key)
        waiting = queue.popleft()
        self._bytes[key] -= len(waiting.request.body)
        if queue:
            self._queues[key] = queue  # last in turn
        else:
            del self._bytes[key]
        return waiting
