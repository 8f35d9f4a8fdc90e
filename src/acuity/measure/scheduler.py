"""Worker threads with a bounded queue of jobs.

Kernels release the interpreter lock, so threads are enough. A job that fails stops the others: the next
submit() or drain() raises its error in the caller.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from acuity.devices import available_threads
from acuity.errors import ClosedError, InputError, Remedy, to_set

JobT = TypeVar("JobT")

# Running jobs for each job that may wait in the queue, where at least one may wait: enough to hide the
# feeder's own work, for little memory.
_THREADS_PER_WAITING: Final = 2
# Each thread has pictures and scratch memory of its own; more than this is a typing error.
MAX_THREADS: Final = 1024


def check_threads(threads: int | None) -> int:
    """The number of threads to start; None and 0 stand for all cores."""
    if threads is not None and not 0 <= threads <= MAX_THREADS:
        raise InputError(f"threads {threads} must be 1 to {MAX_THREADS}, or 0 for all there are")
    return threads or available_threads()


def most_pending(threads: int) -> int:
    """How many jobs may be under way: those that run, and a few that wait."""
    return threads + max(1, threads // _THREADS_PER_WAITING)


class Pending:
    """Counts jobs, for the threads that wait for them or for their error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)  # a job is finished: wakes submit() and drain()
        self._pending = 0  # submitted and not finished
        self._done = 0
        self._closed = False
        self._error: BaseException | None = None

    @property
    def done(self) -> int:
        """The number of finished jobs."""
        return self._done

    @property
    def pending(self) -> int:
        """The number of jobs under way."""
        return self._pending

    @property
    def closed(self) -> bool:
        return self._closed

    def drain(self) -> None:
        """Wait until every job is finished."""
        with self._room:
            self._room.wait_for(lambda: self._pending == 0 or self._stopped)
            self._check()

    @property
    def _stopped(self) -> bool:
        return self._closed or self._error is not None

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed:
            raise ClosedError("the measurement was closed while frames were under way")


class Scheduler(Pending, Generic[JobT]):
    """Runs jobs on `threads` workers; each thread creates its own worker function."""

    def __init__(
        self, threads: int, make_worker: Callable[[], Callable[[JobT], None]], *, limit: float | None = None
    ) -> None:
        """`limit` is how many jobs may be under way; without one, those that run and a few that wait."""
        super().__init__()
        self._make_worker = make_worker
        self._process = os.getpid()
        self._limit = most_pending(threads) if limit is None else limit
        self._ready = threading.Condition(self._lock)  # there is a job: wakes one worker, not all of them
        self._jobs: deque[JobT] = deque()
        self._awaited = 1  # how many jobs have to be there before a worker is woken
        # Daemons, so that a caller who never closes doesn't keep the process alive.
        self._threads = [
            threading.Thread(target=self._work, name=f"acuity-worker-{number}", daemon=True)
            for number in range(threads)
        ]
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError:  # the system's limit
            self._threads = [thread for thread in self._threads if thread.ident is not None]
            self.close()
            raise _refused(threads) from None

    def submit(self, job: JobT) -> None:
        """Queue a job; waits while too many are under way."""
        with self._room:
            if self._pending >= self._limit:
                self._room.wait_for(lambda: self._pending < self._limit or self._stopped)
            self._check()
            self._jobs.append(job)
            self._pending += 1
            if len(self._jobs) >= self._awaited:
                self._ready.notify()

    def close(self) -> None:
        """Drop waiting jobs, let running ones end, and join the threads; may be called again.

        Does nothing in a forked process, which doesn't have the threads.
        """
        if os.getpid() != self._process:
            return
        with self._room:
            self._closed = True
            dropped = self._wake_all()
        dropped.clear()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _wake_all(self) -> deque[JobT]:
        """Wake all threads; returns the jobs that wait, to be dropped when the lock is free again."""
        dropped, self._jobs = self._jobs, deque()
        self._ready.notify_all()
        self._room.notify_all()
        return dropped

    def _work(self) -> None:
        try:
            self._run_jobs()
        except BaseException as error:  # raised again in the caller
            self._fail(error)

    def _run_jobs(self) -> None:
        worker = self._make_worker()
        while (jobs := self._take()) is not None:
            worker(jobs.pop())  # its pictures may be large: nothing refers to them any longer
            self._finish()

    def _take(self) -> list[JobT] | None:
        """The next job, or None if no more will come."""
        with self._ready:
            self._ready.wait_for(lambda: self._jobs or self._stopped)
            return None if self._stopped else [self._jobs.popleft()]

    def _finish(self, count: int = 1) -> None:
        with self._room:
            self._pending -= count
            self._done += count
            self._room.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._room:
            if self._error is None:
                self._error = error
            dropped = self._wake_all()
        dropped.clear()


def _refused(threads: int) -> InputError:
    """The sentence about threads that the system doesn't start."""
    remedy: tuple[str | Remedy, ...] = ("raise its limits, 'ulimit -u' and 'ulimit -v'",)
    if threads > 1:
        remedy = ("use fewer, as with ", to_set("threads", str(threads // 2)), ", or ", *remedy)
    return InputError(f"the system refuses to start {threads} threads: ", *remedy)
