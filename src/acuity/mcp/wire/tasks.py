"""Event loops, and the tasks that handlers start: kept while they run, and ended with their endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """A set of running tasks."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task; the event loop itself holds none of them."""
        task = asyncio.create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in list(self._running):
            task.cancel()

    async def end(self) -> None:
        """Cancel all of them, and wait until they have ended."""
        while self._running:
            self.cancel()
            await asyncio.wait(self._running)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Event loops of uvloop, which take half the time for each request; asyncio's own where it is missing."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
