"""The protocol's libraries, loaded when the first client comes.

Loading them takes longer than scoring a short clip. Until somebody connects, the server's thread only waits
for the sockets that listen already; whoever comes early waits in their queue until all is loaded.
"""

from __future__ import annotations

import asyncio
import logging
import select
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from acuity.mcp.embedded.presence import Ending, Presence

if TYPE_CHECKING:
    from acuity.mcp.embedded.front import Front
    from acuity.mcp.embedded.loop_thread import LoopThread

logger: Final = logging.getLogger(__name__)

_ACCEPTING: Final = 1.0  # seconds; reached only where no more files can be opened


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where clients of one transport come in."""

    descriptor: int  # readable when a client has come
    open: Callable[[Front], AbstractAsyncContextManager[Any]]
    listens: bool = True  # for any number of clients; otherwise it is one client's own


class OnDemand:
    """Endpoints that are opened when the first client of any of them has come. For the server's loop."""

    def __init__(
        self,
        thread: LoopThread,
        load: Callable[[], AbstractAsyncContextManager[Front]],
        presence: Presence,
        ending: Ending,
    ) -> None:
        """`load` imports what it takes, and returns what is to be entered."""
        self.thread: Final = thread
        self._load = load
        self._presence = presence
        self._ending = ending
        self._endpoints: list[Endpoint] = []
        self._watched: set[int] = set()
        self._loading: asyncio.Task[None] | None = None
        self._front: Front | None = None

    async def add(self, endpoint: Endpoint) -> None:
        """Wait for clients of one more endpoint."""
        if self._loading is not None:
            await self._loading
            if self._front is not None:
                await self.thread.enter(endpoint.open(self._front))
            self._endpoints.append(endpoint)
            return
        self._endpoints.append(endpoint)
        try:
            self.thread.loop.add_reader(endpoint.descriptor, self.begin)
            self._watched.add(endpoint.descriptor)
        except PermissionError:  # a file, which has all it will ever have
            self.begin()

    def begin(self) -> None:
        """Load what serves clients, unless that was begun already."""
        if self._loading is None:
            for descriptor in self._watched:
                self.thread.loop.remove_reader(descriptor)
            self._watched.clear()
            self._loading = self.thread.loop.create_task(self._open())

    async def stay(self, seconds: float | None) -> None:
        """Wait so many seconds, or until the last client has left."""
        if seconds is not None:
            await asyncio.sleep(seconds)
        else:
            await self._presence.everybody_left()

    async def finish(self, linger: float) -> None:
        """Serve whoever has connected until everybody was told the end, `linger` seconds at most."""
        if linger > 0.0 and self._arriving():
            self.begin()
        if self._loading is not None:
            await self._loading
            if linger > 0.0:
                await self._accepted()
                await self._presence.settled(linger, self._ending.answering)
        self._ending.close()

    async def _open(self) -> None:
        try:
            self._front = await self.thread.enter(self._load())
            for endpoint in self._endpoints:
                await self.thread.enter(endpoint.open(self._front))
        except Exception:
            logger.exception("agents can't be served: the measurement goes on without them")
            self._presence.give_up()

    async def _accepted(self) -> None:
        """Wait until those who were in the queue are let in."""
        end = self.thread.loop.time() + _ACCEPTING
        while self._arriving(listening=True) and self.thread.loop.time() < end:
            await asyncio.sleep(0)

    def _arriving(self, *, listening: bool = False) -> bool:
        """Whether a client waits to be let in."""
        look = select.poll()
        for endpoint in self._endpoints:
            if endpoint.listens or not listening:
                look.register(endpoint.descriptor, select.POLLIN)
        return bool(look.poll(0))
