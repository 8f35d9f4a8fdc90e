"""The workers there are: idle ones to be had at once, others started when needed or after a loss."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from acuity.jobs.config import JobsConfig
from acuity.jobs.worker.worker_process import WorkerProcess

logger: Final = logging.getLogger(__name__)

_PATIENCE: Final = 5.0  # seconds that killed processes get to vanish at the end


class Pool:
    """Whoever takes a worker has it alone and gives it back; no more than config.workers do at once."""

    def __init__(self, config: JobsConfig) -> None:
        self._config = config
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._closed = False
        self.started = 0
        self.lost = 0

    def __len__(self) -> int:
        """Processes alive."""
        return len(self._all)

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._all if worker.pid is not None]

    def warm_up(self) -> None:
        """Have one idle worker ready for whoever comes next."""
        if not self._closed and not self._idle and len(self._all) < self._config.workers:
            self._idle.append(self._start())

    def take(self) -> WorkerProcess:
        """A worker, the one last used first: its memory is warm."""
        return self._idle.pop() if self._idle else self._start()

    def give_back(self, worker: WorkerProcess) -> None:
        if self._closed:
            worker.kill()
        elif worker.usable:
            self._idle.append(worker)

    def kill(self) -> None:
        """End all workers; no more are started."""
        self._closed = True
        self._idle.clear()
        for worker in self._all:
            worker.kill()

    async def stop(self) -> None:
        """End all workers and wait until they are gone."""
        self.kill()
        if self._all:
            _, stuck = await asyncio.wait(
                [asyncio.ensure_future(worker.gone()) for worker in self._all], timeout=_PATIENCE
            )
            for waiting in stuck:
                waiting.cancel()
            if stuck:
                logger.warning("%d worker processes were killed but have not ended yet", len(stuck))

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._config, self._gone)
        self._all.add(worker)
        self.started += 1
        return worker

    def _gone(self, worker: WorkerProcess) -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.asked:
            self.lost += 1
        if worker.worked:  # one that never did would be followed by others that don't, without end
            self.warm_up()
