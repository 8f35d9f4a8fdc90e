"""The server's end of a worker's control channel, on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from acuity.jobs.wire import Decoder, Frame, WireError


class Channel(asyncio.Protocol):
    """Hands every frame on as it comes, and tells once when no more will come, with the reason if any.

    Frames may be sent before the connection stands: they wait for it.
    """

    def __init__(self, receive: Callable[[Frame], None], closed: Callable[[WireError | None], None]) -> None:
        self._receive = receive
        self._closed = closed
        self._decoder = Decoder()
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._reason: WireError | None = None
        self._ended = False

    def send(self, frame: bytes) -> None:
        if self._transport is None:
            self._unsent.append(frame)
        else:
            self._transport.write(frame)

    def close(self) -> None:
        self._ended = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._ended:
            self._transport.abort()
            return
        for frame in self._unsent:
            self._transport.write(frame)
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        try:
            for frame in self._decoder.feed(data):
                self._receive(frame)
        except WireError as error:
            self._reason = error
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._ended = True
        closed = self._closed
        self._receive = self._closed = _ignore  # or it and its owner would hold each other
        closed(self._reason)


def _ignore(_: object) -> None:
    pass
