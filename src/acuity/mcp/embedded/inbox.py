"""Messages on their way from a connection's reader to the SDK."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

import anyio
from mcp.shared.message import SessionMessage


class Inbox:
    """The stream of incoming messages as the SDK reads it; whoever fills it looks at its length first."""

    def __init__(self) -> None:
        self._waiting: deque[SessionMessage] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: SessionMessage) -> None:
        self._waiting.append(message)
        self._changed.set()

    def end(self) -> None:
        """No more follow; what waits is still read."""
        self._ended = True
        self._changed.set()

    async def receive(self) -> SessionMessage | Exception:
        while not self._waiting:
            if self._ended:
                raise anyio.EndOfStream
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    async def aclose(self) -> None:
        self.end()
        self._waiting.clear()

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Inbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
