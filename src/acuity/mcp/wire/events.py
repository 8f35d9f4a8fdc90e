"""Server-sent events: how one is written, and the queue of those that wait for one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import anyio
from starlette.types import Send

HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
HEARTBEAT: Final = b": ping\n\n"


def event(data: bytes, kind: bytes = b"message", number: int | None = None) -> bytes:
    """An event. JSON as it is written here has no line ends of its own."""
    assert b"\n" not in data
    assert b"\r" not in data
    head = b"" if number is None else b"id: %d\n" % number
    return b"%bevent: %b\ndata: %b\n\n" % (head, kind, data)


class EventStream:
    """The queue of one stream. When it is full, senders wait."""

    def __init__(self, room: int, *, numbered: bool = True) -> None:
        self._room = room
        self._numbered = numbered
        self._waiting: deque[bytes] = deque()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._ended = False
        self._number = 0

    def offer(self, payload: bytes) -> bool:
        """Add a message if there is room for it."""
        if self._ended or len(self._waiting) >= self._room:
            return False
        self._number += 1
        self._waiting.append(event(payload, number=self._number if self._numbered else None))
        self._filled.set()
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
        self._ended = True
        self._filled.set()
        self._emptied.set()

    async def write(self, send: Send, heartbeat: float) -> None:
        """Write events until the end, and a heartbeat after so many silent seconds."""
        while True:
            chunk = HEARTBEAT
            with anyio.move_on_after(heartbeat):
                await self._filled.wait()
                self._filled.clear()
                chunk = b"".join(self._waiting)
                self._waiting.clear()
                self._emptied.set()
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if self._ended and not self._waiting:
                return
