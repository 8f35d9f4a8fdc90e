"""An event loop on a thread of its own, beside the host's."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, TypeVar

logger: Final = logging.getLogger(__name__)

_Value = TypeVar("_Value")


def step_back() -> None:
    """Have the calling thread, and those it starts, push no other off its core when they wake up.

    Where all cores are busy, each message that comes in would otherwise often interrupt the thread
    that scores: polled a hundred times a second, that one waited six times as long for its core.
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
        """What a coroutine returns; the calling thread waits for it."""
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
        selector: Any = self.loop._selector  # type: ignore[attr-defined]
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            for descriptor in [*selector.get_map(), selector.fileno()]:
                with suppress(OSError):
                    os.dup2(nothing, descriptor, inheritable=False)
        finally:
            os.close(nothing)

    def _run(self) -> None:
        step_back()
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
