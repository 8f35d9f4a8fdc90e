"""Batches are full where jobs come fast, and nobody waits long where they don't."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from acuity.measure.scheduler import BatchScheduler

MOST = 4


class Machine:
    """A BatchWorker that works on two batches at once, and finishes one when it is allowed to."""

    most = MOST

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.under_way: list[int] = []  # how many batches there were when each was started
        self.open: list[int] = []  # sizes of those
        self.waits = threading.Semaphore(0)  # for a batch to be finished
        self.may_finish = threading.Semaphore(0)

    @property
    def pending(self) -> int:
        return sum(self.open)

    @property
    def full(self) -> bool:
        return len(self.open) == 2

    def work(self, jobs: Sequence[int]) -> int:
        finished = self._finish() if self.full or not jobs else 0
        if jobs:
            self.under_way.append(len(self.open))
            self.batches.append(list(jobs))
            self.open.append(len(jobs))
        return finished

    def _finish(self) -> int:
        self.waits.release()
        self.may_finish.acquire()
        return self.open.pop(0)

    def close(self) -> None:
        self.open.clear()


def test_only_full_batches_start_while_one_is_under_way() -> None:
    machine = Machine()
    scheduler = BatchScheduler(lambda: machine, 100)
    scheduler.submit(0)
    machine.waits.acquire()  # it waits for the first batch, which nothing was added to
    for job in range(1, 24):
        scheduler.submit(job)
    for _ in range(30):
        machine.may_finish.release()
    scheduler.drain()
    scheduler.close()
    assert [job for batch in machine.batches for job in batch] == list(range(24))
    assert machine.batches[0] == [0]
    assert [len(batch) for batch in machine.batches[1:-1]] == [MOST] * 5
    assert machine.batches[-1] == [21, 22, 23]


def test_jobs_that_come_slowly_are_not_kept_waiting() -> None:
    machine = Machine()
    scheduler = BatchScheduler(lambda: machine, 100)
    for job in range(3):
        scheduler.submit(job)
        machine.waits.acquire()
        machine.may_finish.release()
    scheduler.drain()
    scheduler.close()
    assert machine.batches == [[0], [1], [2]]
