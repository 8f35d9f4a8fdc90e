"""One end of a connection between the runtime and a worker: frames are gathered, and written once a turn."""

from __future__ import annotations

import asyncio
from typing import cast

from longwire.contract.frames import FrameDecoder


class FrameConnection(asyncio.Protocol):
    """The common part of both ends. Made for one connection, on the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._decoder = FrameDecoder()
        self._transport: asyncio.Transport | None = None  # None: not connected yet, or no longer
        self._unsent: list[bytes] = []
        self._full = False  # the other end doesn't read what is written
        self._waiting: list[asyncio.Future[None]] = []  # for the other end to read

    def write(self, frame: bytes) -> None:
        """Send a frame at the end of this turn of the event loop; nothing where there is no connection."""
        if self._transport is not None:
            if not self._unsent:
                self._loop.call_soon(self._flush)
            self._unsent.append(frame)

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        if self._transport is not None and frames:
            self._transport.write(frames[0] if len(frames) == 1 else b"".join(frames))

    async def room(self) -> None:
        """Wait while too much is unsent."""
        while self._full:
            waiter = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter

    # ---- for the event loop -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
