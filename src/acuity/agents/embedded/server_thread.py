"""The server's thread: an event loop beside the host's threads, and endpoints that open when a client comes.

Importing the protocol's libraries takes longer than scoring a short clip. Until a client connects, the thread
only waits at sockets that listen already; a client that comes early waits in their queue until all is loaded.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from acuity.agents.embedded.presence import EndSignals, Presence
from longwire.wire.sdk_private import selector_of

if TYPE_CHECKING:
    from acuity.agents.embedded.assembly import Endpoints


logger: Final = logging.getLogger(__name__)

_ACCEPTING: Final = 1.0  # seconds; reached only where no more files can be opened
_TURNS: Final = 20  # of the event loop, in which a connection is made of what was accepted

_Value = TypeVar("_Value")


def use_batch_scheduling() -> None:
    """Keep the calling thread, and those it starts, from taking a core from another thread when they wake up.

    Where all cores are busy, each message would otherwise often interrupt the thread that scores: polled a
    hundred times a second, that one waited six times as long for its core.
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):  # where a container forbids it, things go on as they are
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class LoopThread:
    """A daemon thread that runs coroutines of other threads, and keeps blocks open for them.

    A block is entered and left in the same task, and left in the opposite order of entering.
    """

    def __init__(self, name: str) -> None:
        self.loop: Final = asyncio.new_event_loop()
        self._blocks: list[tuple[asyncio.Task[None], asyncio.Event]] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """The result of a coroutine; the calling thread waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self, patience: float) -> None:
        """Leave all blocks, those that need longer than so many seconds by force, and end the thread."""
        self.call(self._leave(patience))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def forget(self) -> None:
        """In a forked child, which has no such thread: let go of descriptors that are the parent's.

        They are replaced, not closed: objects that still know their numbers can't do harm with them, and
        nothing in here can reach the set of descriptors that the parent's loop waits for.
        """
        selector = selector_of(self.loop)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            for descriptor in [*selector.get_map(), selector.fileno()]:
                with suppress(OSError):
                    os.dup2(nothing, descriptor, inheritable=False)
        finally:
            os.close(nothing)

    def _run(self) -> None:
        use_batch_scheduling()
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    async def enter(self, block: AbstractAsyncContextManager[_Value]) -> _Value:
        """Enter a block on the loop; it stays open until stop()."""
        entered: asyncio.Future[_Value] = self.loop.create_future()
        leave = asyncio.Event()
        task = self.loop.create_task(_keep(block, entered, leave))
        found = await entered
        self._blocks.append((task, leave))
        return found

    async def _leave(self, patience: float) -> None:
        end = self.loop.time() + patience
        while self._blocks:
            task, leave = self._blocks.pop()
            leave.set()
            await asyncio.wait([task], timeout=max(end - self.loop.time(), 0.1))
            await _cancelled(task)
        for other in asyncio.all_tasks() - {asyncio.current_task()}:
            await _cancelled(other)


async def _keep(
    block: AbstractAsyncContextManager[_Value], entered: asyncio.Future[_Value], leave: asyncio.Event
) -> None:
    try:
        async with block as found:
            entered.set_result(found)
            await leave.wait()
    except Exception as error:
        if entered.done():
            logger.exception("a part of the server ended badly")
        else:
            entered.set_exception(error)


async def _cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task], timeout=1.0)


@dataclass(frozen=True, slots=True)
class PendingEndpoint:
    """An address that is bound, and how to serve it."""

    descriptor: int  # readable when a client has come
    open: Callable[[Endpoints], AbstractAsyncContextManager[Any]]
    listens: bool = True  # for any number of clients; otherwise it is one client's own


class LazyEndpoints:
    """Endpoints that are opened when the first client of any of them has come. For the server's loop."""

    def __init__(
        self,
        thread: LoopThread,
        load: Callable[[], AbstractAsyncContextManager[Endpoints]],
        presence: Presence,
        end_signals: EndSignals,
    ) -> None:
        """`load` imports the modules for serving, and returns the block to enter."""
        self.thread: Final = thread
        self._load, self._presence, self._end = load, presence, end_signals
        self._endpoints: list[PendingEndpoint] = []
        self._watched: set[int] = set()
        self._loading: asyncio.Task[None] | None = None
        self._opened: Endpoints | None = None

    async def add(self, endpoint: PendingEndpoint) -> None:
        """Wait for clients of one more endpoint."""
        if self._loading is not None:
            await self._loading
            if self._opened is not None:
                await self.thread.enter(endpoint.open(self._opened))
            self._endpoints.append(endpoint)
            return
        self._endpoints.append(endpoint)
        try:
            self.thread.loop.add_reader(endpoint.descriptor, self.begin)
            self._watched.add(endpoint.descriptor)
        except PermissionError:  # a plain file, which can't be waited for: it is readable now
            self.begin()

    def begin(self) -> None:
        """Load what serves clients, unless that was begun already."""
        if self._loading is None:
            for descriptor in self._watched:
                self.thread.loop.remove_reader(descriptor)
            self._watched.clear()
            self._loading = self.thread.loop.create_task(self._open())

    async def finish(self, linger: float) -> None:
        """Serve connected clients until they know of the end, `linger` seconds at most."""
        if linger > 0.0 and self._arriving():
            self.begin()
        if self._loading is not None:
            await self._loading
            if linger > 0.0:
                await self._accepted()
                await self._presence.settled(linger, self._end.answering)
        self._end.close()

    async def _open(self) -> None:
        try:
            self._opened = await self.thread.enter(self._load())
            for endpoint in self._endpoints:
                await self.thread.enter(endpoint.open(self._opened))
        except Exception:
            logger.exception("agents can't be served: the measurement goes on without them")
            self._presence.give_up()

    async def _accepted(self) -> None:
        """Wait until the clients in the queues are accepted."""
        end = self.thread.loop.time() + _ACCEPTING
        while self._arriving(listening=True) and self.thread.loop.time() < end:
            await asyncio.sleep(0)
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    def _arriving(self, *, listening: bool = False) -> bool:
        """Whether a client waits to be accepted."""
        look = select.poll()
        for endpoint in self._endpoints:
            if endpoint.listens or not listening:
                look.register(endpoint.descriptor, select.POLLIN)
        return bool(look.poll(0))
