"""Workers: bounded, in parallel, and never a deadlock; batches that are full where jobs come fast."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from acuity.errors import ClosedError, InputError
from acuity.measure.scheduler import Scheduler
from acuity.measure.worker import BatchScheduler


class Gate:
    """Jobs wait here until they are let through."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.open = threading.Event()
        self.entered = threading.Semaphore(0)

    def worker(self) -> Callable[[int], None]:
        def work(job: int) -> None:
            self.started.append(job)
            self.entered.release()
            self.open.wait()

        return work


def test_a_system_that_has_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse_the_third(thread: threading.Thread) -> None:
        if thread.name.endswith("-2"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_third)
    before = threading.active_count()
    with pytest.raises(
        InputError, match="4 threads: use fewer, as with threads=2, or raise its limits, 'ulim"
    ):
        Scheduler(4, lambda: lambda _: None)
    assert threading.active_count() == before


def test_submit_waits_when_enough_is_under_way() -> None:
    gate = Gate()
    scheduler: Scheduler[int] = Scheduler(2, gate.worker)
    submitted: list[int] = []

    def feed() -> None:
        for job in range(6):
            scheduler.submit(job)
            submitted.append(job)

    feeder = threading.Thread(target=feed)
    feeder.start()
    for _ in range(2):
        gate.entered.acquire()
    assert len(gate.started) == 2
    assert len(submitted) <= 3  # two being worked on, one waiting
    gate.open.set()
    feeder.join()
    scheduler.drain()
    assert sorted(gate.started) == list(range(6))
    scheduler.close()


def failing(error: BaseException) -> Callable[[], Callable[[int], None]]:
    def work(job: int) -> None:
        raise error

    return lambda: work


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_is_raised_in_the_caller(threads: int) -> None:
    scheduler: Scheduler[int] = Scheduler(threads, failing(ZeroDivisionError("job 0")))
    with pytest.raises(ZeroDivisionError):
        for job in range(100):
            scheduler.submit(job)
    with pytest.raises(ZeroDivisionError):
        scheduler.drain()
    scheduler.close()


def test_close_drops_waiting_jobs_and_joins() -> None:
    gate = Gate()
    scheduler: Scheduler[int] = Scheduler(1, gate.worker)
    scheduler.submit(0)
    scheduler.submit(1)
    gate.entered.acquire()
    closer = threading.Thread(target=scheduler.close)
    closer.start()
    gate.open.set()
    closer.join()
    assert gate.started == [0]
    with pytest.raises(ClosedError):
        scheduler.submit(2)
    with pytest.raises(ClosedError):
        scheduler.drain()
    scheduler.close()


MOST = 4


class Machine:
    """In place of a ConveyorWorker: two batches at once; it finishes one when it is allowed to."""

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
    machine: Any = Machine()
    scheduler: Any = BatchScheduler(machine, 100)
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
    machine: Any = Machine()
    scheduler: Any = BatchScheduler(machine, 100)
    for job in range(3):
        scheduler.submit(job)
        machine.waits.acquire()
        machine.may_finish.release()
    scheduler.drain()
    scheduler.close()
    assert machine.batches == [[0], [1], [2]]
