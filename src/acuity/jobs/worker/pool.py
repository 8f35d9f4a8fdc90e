"""The pool of worker processes: idle ones are reused, others are started when needed."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Final

from acuity.jobs.config import JobsConfig
from acuity.jobs.worker.worker_process import WorkerProcess

logger: Final = logging.getLogger(__name__)

_IDLE_MEMORY: Final = 512 << 20  # bytes that an idle worker may keep; less if that is most of its share
_GRACE: Final = 5.0  # seconds to wait for the end of killed processes


class Pool:
    """Lends each worker to one job at a time. The caller takes at most config.workers and one at once."""

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._closed = False
        self.started = 0
        self.lost = 0

    def __len__(self) -> int:
        """The number of running processes."""
        return len(self._all)

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._all if worker.pid is not None]

    def warm_up(self) -> None:
        """Start an idle worker for the next job, if there is none."""
        if not self._closed and not self._idle and len(self._all) < self._config.workers:
            self._idle.append(self._start())

    def take(self) -> WorkerProcess:
        """The idle worker that was used last, whose caches are warm, or a new one."""
        return self._idle.pop() if self._idle else self._start()

    def give_back(self, worker: WorkerProcess) -> None:
        if self._closed:
            worker.kill()
        elif worker.usable and worker.memory() > min(_IDLE_MEMORY, self._config.memory_each // 2):
            worker.kill()  # what a job leaves behind would be missing to the next one, or to other workers
        elif worker.usable:
            self._idle.append(worker)

    def kill(self) -> None:
        """End all workers; no more are started."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill()

    async def stop(self) -> None:
        """End all workers and wait for their end."""
        self.kill()
        if self._all:
            _, stuck = await asyncio.wait(
                [asyncio.ensure_future(worker.gone()) for worker in self._all], timeout=_GRACE
            )
            for waiting in stuck:
                waiting.cancel()
            if stuck:
                logger.warning("%d worker processes were killed but have not ended yet", len(stuck))

    def _start(self) -> WorkerProcess:
        taken = {worker.number for worker in self._all}
        number = next(number for number in itertools.count() if number not in taken)
        worker = WorkerProcess(self._config, self._gone, number)
        self._all.add(worker)
        self.started += 1
        return worker

    def _gone(self, worker: WorkerProcess) -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.asked_to_end:
            self.lost += 1
        if worker.worked:  # otherwise workers that fail to start would be replaced without end
            self.warm_up()
