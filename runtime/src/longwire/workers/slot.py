"""A place for one worker at a time: it is filled again and again, and stays empty for a while after failures.

slot w1: starting ─► ready ─► (lost, drained, max_requests, bye) ─► another, after a wait if it failed
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Final

from longwire.supervised_process import waited
from longwire.workers.home import WorkersHome
from longwire.workers.worker import SOUND_SECONDS, Worker, WorkerState, WorkerStatus

logger: Final = logging.getLogger(__name__)

_FIRST_WAIT: Final = 0.1  # seconds before a worker that failed is started again; doubled each time
_LONGEST_WAIT: Final = 30.0  # for one that fails at its start, before it was of any use
_LONGEST_PAUSE: Final = 2.0  # for one that has answered calls
_LONGEST_ABSENCE: Final = 1.0  # between two attempts to reach one that somebody else runs
_HOPELESS: Final = 3  # failed starts in a row


class Slot:
    """A place for one worker at a time, and those that still finish their calls there."""

    def __init__(self, home: WorkersHome, label: str, external: str | None = None) -> None:
        """`external` is the socket of a worker that somebody else runs."""
        self._home = home
        self.label = label
        self._external = external
        self.current: Worker | None = None
        self._next: Worker | None = None  # the worker that is being started
        self._finishing: list[Worker] = []
        self._starts = 0
        self._wait_until: float | None = None  # seconds since 1970, of the next start
        self.problem: str | None = None
        self._now = asyncio.Event()  # an operator wants the next start at once
        self._pauses = Pauses(external is not None)

    @property
    def usable(self) -> Worker | None:
        """The worker that is given calls, if there is one."""
        return self.current if self.current is not None and self.current.usable else None

    def workers(self) -> list[Worker]:
        return [one for one in (self.current, self._next, *self._finishing) if one is not None]

    def statuses(self) -> Iterator[WorkerStatus]:
        restarts = max(0, self._starts - 1)
        shown = self.current if self.current is not None else self._next
        if shown is not None and self._wait_until is None:
            yield shown.status(self.label, restarts)
        else:
            state: WorkerState = "ended" if self._wait_until is None else "waiting"
            where, now = self._external or "", time.time()
            yield WorkerStatus(self.label, state, where, None, "", 0, 0, restarts, now, self.problem)
        for number, worker in enumerate(self._finishing, 1):
            yield worker.status(f"{self.label}-old{number}", restarts)

    def restart(self) -> bool:
        """End its worker at once, or start the next one without a wait; False: there is nothing to do."""
        worker = self.current or self._next
        if worker is None and self._wait_until is None:
            return False
        logger.info("worker %s is restarted", self.label, extra={"event": "worker_restarted"})
        if worker is not None:
            worker.drop()
        else:
            self._now.set()
        return True

    async def keep(self) -> None:
        """Keep a worker in this place until the pool closes."""
        home, pauses = self._home, self._pauses
        while not home.closing:
            worker = self._next = self._made()
            self._wait_until = None
            self._now.clear()
            try:
                is_ready = await worker.connect()
            except Exception as error:  # such as no descriptors: the place must not stay empty for ever
                logger.exception("worker %s could not be started", self.label)
                worker.problem, is_ready = str(error) or type(error).__name__, False
            self._next = None
            if is_ready and not home.closing:
                self._install(worker)
                await worker.leaving.wait()
                home.note_absence()
                if worker.problem is None:  # it goes as it should: another comes at once
                    if not worker.usable:
                        self._retire(worker)
                    pauses.forget()
                    continue
            await worker.settled()
            self._retire(worker)
            self.problem = f"worker {self.label} is not running: {worker.problem}"
            home.counters["restarts"] += 1
            wait = pauses.after(worker)
            if not home.closing:
                self._tell_failure(worker, wait)
            self._wait_until = time.time() + wait
            await waited(self._now, wait)

    def _made(self) -> Worker:
        self._starts += 1
        if self._external is not None:
            return Worker(self._home, self.label, self._external, external=True)
        path = self._home.socket(f"{self.label}-{self._starts}")
        return Worker(self._home, self.label, path, external=False)

    def _install(self, worker: Worker) -> None:
        before, self.current = self.current, worker
        self.problem = None
        if before is not None:
            self._retire(before)
        fields = {"event": "worker_ready", "worker": self.label, "pid": worker.pid}
        logger.info("worker %s is ready", self.label, extra=fields)
        self._home.note_ready()

    def _retire(self, worker: Worker) -> None:
        """Let a worker finish its calls beside its successor."""
        if self.current is worker:
            self.current = None
        if worker not in self._finishing:
            worker.retire()
            self._finishing.append(worker)
            self._home.tasks.spawn(self._finish(worker))

    async def _finish(self, worker: Worker) -> None:
        try:
            await worker.finish(self._home.plan.call_seconds)
        finally:
            self._finishing.remove(worker)

    def _tell_failure(self, worker: Worker, wait: float) -> None:
        level, what = logging.WARNING, "failed"
        if self._pauses.is_hopeless:
            level, what = logging.ERROR, "can't be started"
        said = f"worker {self.label} {what}: {worker.logged_problem}; the next start is in {wait:.1f} s"
        logger.log(level, "%s", said, extra={"event": "worker_failed", "worker": self.label})
        self._home.note_failure()


class Pauses:
    """The waits of a place before its next worker is started."""

    def __init__(self, external: bool) -> None:
        self._external = external
        self._useless = 0  # starts in a row of which nothing came
        self._crashes = 0  # in a row, soon after the start, of workers that had answered

    def forget(self) -> None:
        self._useless = self._crashes = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether it has failed at its start often enough to be sure that it will again."""
        return self._useless >= _HOPELESS and not self._external

    def after(self, worker: Worker) -> float:
        """The seconds to wait after this worker has failed."""
        if worker.ready_seconds > SOUND_SECONDS:
            self.forget()
        if worker.has_answered or worker.ready_seconds > SOUND_SECONDS:
            self._useless, self._crashes = 0, self._crashes + 1
            count, longest = self._crashes, _LONGEST_PAUSE
        else:
            self._useless += 1
            count, longest = self._useless, _LONGEST_WAIT
        if self._external:
            longest = _LONGEST_ABSENCE
        return min(_FIRST_WAIT * 2.0 ** min(count - 1, 16), longest)
