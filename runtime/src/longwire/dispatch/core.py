"""The parts that handlers of both eras share: the server, its dispatcher, open responses and timers.

A `Dispatch` runs the requests of clients, in this process or in workers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Protocol

from mcp.server.connection import Connection

from longwire.counters import RuntimeCounters
from longwire.dispatch.dispatcher import Context
from longwire.dispatch.exchange import Exchange, Given, Later
from longwire.principals.principal import Holders, Principal
from longwire.sessions.streams import Stream
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.messages import PlainRequest, RefusedMessage
from longwire.wire.serving import IGNORED, Handshake, Serving


class Dispatch(Protocol):
    """Runs requests and notifications, in this process or in workers. Nothing but `close()` waits."""

    def request(self, exchange: Exchange, connection: Connection, method: str, params: Given) -> None: ...
    def notification(
        self, context: Context, connection: Connection, method: str, params: Given
    ) -> object: ...
    def end_gone(self, gone: Holders) -> None: ...
    def clean_up(self, connection: Connection) -> None: ...
    def session_ended(self, session_id: str, reason: str) -> None: ...
    async def close(self) -> None: ...


_CALL: Final = "tools/call"
PING: Final = b": ping\n\n"
_SPARE: Final = 16


class Core:
    """The shared parts of one server's runtime."""

    def __init__(
        self, serving: Serving, counters: RuntimeCounters, dispatcher: Dispatch, later: Later | None = None
    ) -> None:
        """`later` sets timers in place of the loop."""
        self.serving = serving
        self.counters = counters
        self.dispatcher = dispatcher
        self.open_responses = OpenResponses(serving.limits.heartbeat)
        self.later = later or Timers()

    def quick(self, message: PlainRequest, client: str, version: str) -> bytes | None:
        """The reply to a request that needs nothing of the SDK; None: the dispatcher has to run it."""
        if message.method != _CALL or self.serving.quick is IGNORED:
            return None
        return self.serving.quick.answer(message, Handshake(client, version))

    def serve(self, handler: Handler, request: Request, responder: Responder) -> None:
        """Have a handler answer a request, or raise RefusedMessage."""
        try:
            handler(request, responder)
        except RefusedMessage as refused:
            if refused.counted:
                self.counters.refused[refused.counted] += 1
            responder.answer(*refused.answer)

    async def close(self) -> None:
        self.open_responses.close()
        await self.dispatcher.close()
        if isinstance(self.later, Timers):
            self.later.close()


# ---- responses that stay open ---------------------------------------------------------------------


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


# ---- timers --------------------------------------------------------------------------------------
# Timers for calls that nearly always end before them: one timer of the event loop for each delay.
# Making and cancelling a timer of the loop takes several microseconds. Calls of one kind wait for the same
# time, so those that began first are due first, and a queue with one timer serves them all.


@dataclass(slots=True, eq=False)
class Timer:
    """A function that is called when its time has come, unless it was cancelled."""

    waiting: dict[Timer, None]  # those with the same delay
    call: Callable[[], None]
    due: float

    def cancel(self) -> None:
        self.waiting.pop(self, None)


class Timers:
    """Calls functions after some seconds; the delays should be few."""

    def __init__(self) -> None:
        self._waiting: dict[float, dict[Timer, None]] = {}  # by delay, in the order in which they are due
        self._handles: dict[float, asyncio.TimerHandle] = {}

    def __call__(self, seconds: float, call: Callable[[], None]) -> Timer:
        loop, waiting = asyncio.get_running_loop(), self._waiting.setdefault(seconds, {})
        timer = Timer(waiting, call, loop.time() + seconds)
        waiting[timer] = None
        if seconds not in self._handles:
            self._handles[seconds] = loop.call_at(timer.due, self._fire, seconds)
        return timer

    def close(self) -> None:
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()
        self._waiting.clear()

    def _fire(self, seconds: float) -> None:
        del self._handles[seconds]
        loop, waiting = asyncio.get_running_loop(), self._waiting[seconds]
        now = loop.time()
        try:
            for timer in list(takewhile(lambda timer: timer.due <= now, waiting)):
                if waiting.pop(timer, timer) is None:  # not cancelled by an earlier one
                    timer.call()
        finally:
            first = next(iter(waiting), None)
            if first is not None and seconds not in self._handles:
                self._handles[seconds] = loop.call_at(first.due, self._fire, seconds)
