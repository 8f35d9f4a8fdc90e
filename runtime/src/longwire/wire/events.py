"""Server-sent events: how one is written, and a stream of them with a queue for a slow reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import anyio

from longwire.wire.http.request import Responder

HEARTBEAT: Final = b": ping\n\n"


def event(data: bytes, kind: bytes = b"message", number: int | None = None) -> bytes:
    """An event. JSON as it is written here has no line ends of its own."""
    assert b"\n" not in data
    assert b"\r" not in data
    head = b"" if number is None else b"id: %d\n" % number
    return b"%bevent: %b\ndata: %b\n\n" % (head, kind, data)


class EventStream:
    """The events of one answer.

    What the client doesn't take yet waits in a queue; when that is full, senders wait.
    """

    def __init__(self, responder: Responder, room: int, heartbeat: float, *, numbered: bool = True) -> None:
        """`room` is the length of the queue; after `heartbeat` seconds of silence a comment is sent."""
        self._responder = responder
        self._room = room
        self._heartbeat = heartbeat
        self._numbered = numbered
        self._waiting: deque[bytes] = deque()
        self._emptied = asyncio.Event()
        self._ended = False
        self._number = 0
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()  # when something was written
        self._timer = self._loop.call_later(heartbeat, self._beat)
        responder.on_room(self._flush)

    def begin(self, greeting: bytes) -> None:
        """Begin the answer with its first events."""
        self._responder.begin_events()
        self._responder.send(greeting)

    def offer(self, payload: bytes) -> bool:
        """Add a message if there is room for it."""
        if self._ended or len(self._waiting) >= self._room:
            return False
        self._number += 1
        self._waiting.append(event(payload, number=self._number if self._numbered else None))
        if not self._responder.unsent:
            self._flush()
        return True

    async def add(self, payload: bytes) -> None:
        """Add a message as soon as there is room."""
        while not self.offer(payload):
            if self._ended:
                raise anyio.BrokenResourceError
            self._emptied.clear()
            await self._emptied.wait()

    def end(self) -> None:
        """Take no more events; those that wait are still written."""
        if self._ended:
            return
        self._ended = True
        self._timer.cancel()
        self._emptied.set()
        if not self._waiting:
            self._responder.end()

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._responder.send(b"".join(self._waiting))
        self._waiting.clear()
        self._last = self._loop.time()
        self._emptied.set()
        if self._ended:
            self._responder.end()

    def _beat(self) -> None:
        now = self._loop.time()
        if now - self._last >= self._heartbeat:
            if not self._responder.unsent:  # a client that reads nothing needs no more
                self._responder.send(HEARTBEAT)
            self._last = now
        self._timer = self._loop.call_at(self._last + self._heartbeat, self._beat)
