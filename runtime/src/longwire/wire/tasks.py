"""The event loop and the garbage collector of a server, and sets of tasks that end together."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextvars import Context
from inspect import iscoroutinefunction
from typing import Any, Final

_AGAIN: Final = 5.0  # seconds to clean up; then a task is cancelled again: some code swallows the first


class RunningTasks:
    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], context: Context | None = None) -> asyncio.Task[Any]:
        """Start a task and hold it: the event loop keeps only weak references."""
        task = asyncio.create_task(coroutine, context=context)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in list(self._running):
            task.cancel()

    async def end(self, again: float = _AGAIN) -> None:
        """Cancel all of them, and wait until they have ended; `again` every so many seconds."""
        while self._running:
            self.cancel()
            await asyncio.wait(self._running, timeout=again)

    async def ended(self) -> None:
        """Wait until all of them have ended by themselves."""
        while self._running:
            await asyncio.wait(self._running)


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine: a function, or an object with an async __call__."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Event loops of uvloop, which take half the time for each request; asyncio's own where it is missing."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


# Requests leave reference cycles, and a full collection takes tens of milliseconds: collect rarely, new
# objects first.
_THRESHOLDS: Final = (50_000, 20, 100)


def collect_rarely() -> None:
    """Set the garbage collector of a process that only serves; objects that exist now are never looked at."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
