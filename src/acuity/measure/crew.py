"""Crew: the worker threads of several measurements that run at once.

Together they have as many threads as one measurement would have. Each measurement has a scheduler of its
own (`CrewScheduler`) with its own count, limit and error, so that one that fails doesn't stop the others. A
thread keeps one lane for each geometry: scratch memory grows with the threads, not with the measurements.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final

from acuity.errors import ClosedError
from acuity.measure.scheduler import Pending, Scheduler, check_threads, most_pending
from acuity.measure.worker import Lanes, MakeWorker, WorkItem

_Job = tuple["CrewScheduler", WorkItem]
_LEAST: Final = 1  # jobs that each measurement may have under way


class Crew:
    """Threads for the jobs of all measurements that join."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = check_threads(threads)
        self._members: set[CrewScheduler] = set()
        self._closed = False
        self._lock = threading.Lock()
        # Members limit their own jobs, so this queue never makes one wait for another.
        self._scheduler: Scheduler[_Job] = Scheduler(self.threads, self._make_worker, limit=math.inf)

    def join(self, make_worker: MakeWorker) -> CrewScheduler:
        """A scheduler for one more measurement; raises ClosedError."""
        member = CrewScheduler(self, make_worker)
        with self._lock:
            if self._closed:
                raise ClosedError("the threads that measurements share have ended: make a new crew")
            self._members.add(member)
        return member

    def leave(self, member: CrewScheduler) -> None:
        with self._lock:
            self._members.discard(member)

    @property
    def share(self) -> int:
        """The jobs that each member may have under way, so that all together have as many as one alone."""
        return max(_LEAST, -(-most_pending(self.threads) // max(len(self._members), 1)))

    def submit(self, member: CrewScheduler, item: WorkItem) -> None:
        self._scheduler.submit((member, item))

    def close(self) -> None:
        """Join the threads; measurements that are still open fail, also those that wait for their jobs."""
        with self._lock:
            self._closed = True
            members = list(self._members)
        for member in members:
            member.close()
        self._scheduler.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_worker(self) -> Callable[[_Job], None]:
        lanes: Lanes = {}
        workers: dict[CrewScheduler, Callable[[WorkItem], None]] = {}

        def work(job: _Job) -> None:
            member, item = job
            if not member.begin():
                return
            try:
                for gone in [other for other in workers if other.closed]:
                    del workers[gone]
                worker = workers.get(member)
                if worker is None:
                    worker = workers[member] = member.make_worker(lanes)
                worker(item)
            except BaseException as error:
                member.end(error)
            else:
                member.end(None)

        return work


class CrewScheduler(Pending):
    """The jobs of one measurement, with the interface of a Scheduler."""

    def __init__(self, crew: Crew, make_worker: MakeWorker) -> None:
        super().__init__()
        self.make_worker = make_worker
        self._crew = crew
        self._running = 0

    def submit(self, job: WorkItem) -> None:
        """Queue a job; waits while this measurement has its share under way."""
        with self._room:
            self._room.wait_for(lambda: self._pending < self._crew.share or self._stopped)
            self._check()
            self._pending += 1
        self._crew.submit(self, job)

    def close(self) -> None:
        """Drop waiting jobs, and wait for running ones; may be called again."""
        with self._room:
            if not self._closed:
                self._closed = True
                self._crew.leave(self)
            self._room.notify_all()
            self._room.wait_for(lambda: self._running == 0)

    def begin(self) -> bool:
        """Whether a job that was submitted is still wanted; called by a thread of the crew."""
        with self._room:
            self._running += not self._stopped
            return not self._stopped

    def end(self, error: BaseException | None) -> None:
        """Count a job that has run; called by a thread of the crew."""
        with self._room:
            self._running -= 1
            self._pending -= 1
            self._done += error is None
            self._error = self._error or error
            self._room.notify_all()
