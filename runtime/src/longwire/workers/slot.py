"""A place for one worker at a time, and how long it stays empty between two."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from longwire.workers.status import WorkerState, WorkerStatus
from longwire.workers.worker import SOUND_SECONDS, Worker

_FIRST_WAIT: Final = 0.1  # seconds before a worker that failed is started again; doubled each time
_LONGEST_WAIT: Final = 30.0  # for one that fails at its start, before it was of any use
_LONGEST_PAUSE: Final = 2.0  # for one that has answered calls
_LONGEST_ABSENCE: Final = 1.0  # between two attempts to reach one that somebody else runs
_HOPELESS: Final = 3  # failed starts in a row


class Slot:
    """A place for one worker at a time, and those that still finish their calls there."""

    def __init__(self, label: str, external: str | None) -> None:
        self.label = label
        self.external = external  # the socket of a worker that somebody else runs
        self.current: Worker | None = None
        self.next: Worker | None = None  # that is being started
        self.finishing: list[Worker] = []
        self.starts = 0
        self.wait_until: float | None = None  # seconds since 1970, of the next start
        self.problem: str | None = None
        self.now = asyncio.Event()  # an operator wants the next start at once

    @property
    def restarts(self) -> int:
        return max(0, self.starts - 1)

    def workers(self) -> Iterator[Worker]:
        """All of them, whatever their state."""
        yield from (worker for worker in (self.current, self.next, *self.finishing) if worker is not None)

    def statuses(self) -> Iterator[WorkerStatus]:
        shown = self.current if self.current is not None else self.next
        if shown is not None and self.wait_until is None:
            yield shown.status(self.label, self.restarts)
        else:
            state: WorkerState = "ended" if self.wait_until is None else "waiting"
            where = self.external or ""
            yield WorkerStatus(
                self.label, state, where, None, "", 0, 0, self.restarts, time.time(), self.problem
            )
        for number, worker in enumerate(self.finishing, 1):
            yield worker.status(f"{self.label}-old{number}", self.restarts)


class Pauses:
    """How long a place waits before its next worker is started."""

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
        """The seconds, after this one has failed."""
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
