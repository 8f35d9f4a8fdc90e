"""A call that belongs to no session. A client that disconnects ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.dispatcher import CallOptions
from mcp_types import INTERNAL_ERROR, ErrorData

from longwire.dispatch.exchange import CANCELLED, Cancellable, HttpExchange, Later
from longwire.dispatch.heartbeats import PING, Heartbeats
from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import JSON, error_payload, notification_payload, status_of

ROOM: Final = 64 << 10  # bytes that a client may leave unread before a handler that sends more has to wait


class SingleExchange(HttpExchange):
    """A call that belongs to no session: its client gets everything in this one answer."""

    __slots__ = ("_heartbeats", "_later", "_silence", "_statuses", "_streaming", "_takes_events", "_waiters")

    def __init__(
        self,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        heartbeats: Heartbeats,
        *,
        later: Later,
        silence: float,
        takes_events: bool = True,
        statuses: bool = True,
    ) -> None:
        """`silence`: seconds until a sign of life; `statuses`: whether errors have a status of their own."""
        super().__init__(message, request, responder)
        self._heartbeats = heartbeats
        self._later = later
        self._silence = silence
        self._takes_events = takes_events
        self._statuses = statuses
        self._streaming = False
        self._waiters: list[asyncio.Future[None]] = []

    def wait(self, task: Cancellable) -> None:
        super().wait(task)
        if self._responder.gone:
            task.cancel()
            return
        self._responder.on_gone(self._left)
        if self._takes_events and not self._streaming:
            self._timer = self._later(self._silence, self._show_life)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if not self._takes_events or self.is_over:
            return
        self._begin()
        self._responder.send(_event(notification_payload(method, params)))
        while self._responder.unsent > ROOM and not self._responder.gone:
            room = asyncio.get_running_loop().create_future()
            self._waiters.append(room)
            await room

    def end(self) -> None:
        super().end()
        if self._streaming:
            self._heartbeats.discard(self._responder)

    def cancelled(self) -> None:
        self.end()
        if not self._responder.gone:  # the server stops
            self._answer(error_payload(self.request_id, INTERNAL_ERROR, CANCELLED), 200, ())

    def prefer_events(self) -> None:
        if self._takes_events and not self._responder.gone:
            self._begin()

    def _begin(self) -> None:
        if not self._streaming:
            self._streaming = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._responder.begin_events()
            self._responder.on_room(self._freed)
            self._heartbeats.add(self._responder)

    def _show_life(self) -> None:
        self._timer = None
        self._begin()
        self._responder.send(PING)

    def _freed(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _left(self) -> None:
        if self._cancel_requested is not None:
            self._cancel_requested.set()
        self._freed()
        if self.task is not None and not self.is_over:
            self.task.cancel()

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        if self._streaming:
            self._responder.send(_event(payload))
            self._responder.end()
        else:
            self._responder.answer(status, payload, JSON, headers)

    def _status(self, error: ErrorData) -> int:
        return status_of(error, stateless=self._statuses)


def _event(payload: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % payload
