"""Threads for handlers that block: a bounded number, and a report where all of them are stuck.

Nothing can end a thread from outside. One whose call was cancelled or took too long works on, and its place
is free again when it ends by itself. Where all places are held like that, no call can be run any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, Final, TypeVar

from longwire.errors import AskingError
from longwire.worker.faults import HandlerFault

_T = TypeVar("_T")


class _Job:
    """A call in a thread."""

    __slots__ = ("is_left", "loop", "outcome")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self.loop.create_future()
        self.is_left = False  # its call is over, and it still works


_JOB: Final[ContextVar[_Job | None]] = ContextVar("longwire_worker_job", default=None)


class Threads:
    """Runs functions in at most `most` threads at once; further calls wait for one."""

    def __init__(self, most: int, on_stuck: Callable[[str], None]) -> None:
        """`on_stuck` is told when every thread works for a call that is over."""
        self._most = most
        self._on_stuck = on_stuck
        self._working = 0
        self._left = 0  # of these, those whose call is over
        self._changed = asyncio.Event()  # the present numbers are no longer right

    async def run(self, what: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """What the function returns; raises HandlerFault if there is no thread for it, and never will be."""
        while self._left < self._most <= self._working:
            await self._changed.wait()
        if self._left >= self._most:
            raise self._stuck(what)
        self._working += 1
        job = _Job()
        token = _JOB.set(job)
        variables = copy_context()
        _JOB.reset(token)
        threading.Thread(
            target=variables.run, args=(self._work, job, function, arguments), name=what, daemon=True
        ).start()
        try:
            return await job.outcome
        except asyncio.CancelledError:
            if not job.is_left and job.outcome.cancelled():
                job.is_left = True
                self._left += 1
                self._change()
                if self._left >= self._most:
                    self._on_stuck(str(self._stuck(what)))
            raise

    def _work(self, job: _Job, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        found: Any = None
        problem: BaseException | None = None
        try:
            found = function(**arguments)
        except StopIteration as error:  # a future can't have this one
            problem = RuntimeError(f"the handler raised StopIteration: {error}")
        except BaseException as error:
            problem = error
        with suppress(RuntimeError):  # the worker has ended
            job.loop.call_soon_threadsafe(self._ended, job, found, problem)

    def _ended(self, job: _Job, found: Any, problem: BaseException | None) -> None:
        self._left -= job.is_left
        self._working -= 1
        self._change()
        if not job.outcome.done():
            if problem is None:
                job.outcome.set_result(found)
            else:
                job.outcome.set_exception(problem)

    def _change(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _stuck(self, what: str) -> HandlerFault:
        return HandlerFault(
            f"{what} can't be run: all {self._most} threads still work for calls that are over; "
            "handlers should end with their calls"
        )


def from_thread(work: Coroutine[Any, Any, _T]) -> _T:
    """Have a coroutine run on the event loop for the present thread, and wait for what it returns.

    Raises AskingError outside of such a thread, and where its call is over.
    """
    job = _JOB.get()
    if job is None or _is_on_loop(job):
        work.close()
        raise AskingError("from_thread() is for tools with thread=True: elsewhere, await it")
    if job.is_left:
        work.close()
        raise AskingError("the call is over: its client has cancelled it or left, or its time is up")
    return asyncio.run_coroutine_threadsafe(work, job.loop).result()


def _is_on_loop(job: _Job) -> bool:
    """Whether the caller is in the thread of the event loop, where waiting for it would never end."""
    try:
        return asyncio.get_running_loop() is job.loop
    except RuntimeError:
        return False
