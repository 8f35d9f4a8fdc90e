"""A job while this server has it: what changes about it, and who wants to hear."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field

from acuity.errors import JobError
from acuity.jobs.job import Job, JobSpec, Progress, Status
from acuity.jobs.progress import Forwarder
from acuity.jobs.worker.worker_process import WorkerProcess


@dataclass(eq=False, slots=True)
class Entry:
    """Changed by the service only, on the event loop."""

    spec: JobSpec
    client: str
    order: bytes  # the frame that tells a worker what to do
    limit: float  # seconds it may run
    limit_remedy: str  # what to do when that isn't enough
    id: str = field(default_factory=lambda: secrets.token_hex(16))  # nobody can guess another's
    created: float = field(default_factory=time.time)
    status: Status = "queued"
    started: float | None = None
    finished: float | None = None
    progress: Progress | None = None
    position: int | None = None
    failure: JobError | None = None
    text: str | None = None  # the result
    worker: WorkerProcess | None = None  # who is at it
    verdict: tuple[Status, JobError] | None = None  # why it is being stopped; the first one counts
    over: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: set[Forwarder] = field(default_factory=set)

    def snapshot(self) -> Job:
        return Job(
            id=self.id,
            tool=self.spec.tool,
            title=self.spec.title,
            client=self.client,
            status=self.status,
            created=self.created,
            started=self.started,
            finished=self.finished,
            progress=self.progress,
            error=None if self.failure is None else str(self.failure),
            queue_position=self.position,
        )

    def tell(self, progress: Progress) -> None:
        self.progress = progress
        for listener in self.listeners:
            listener.tell(progress)

    def move(self, position: int) -> None:
        """It is now at that place of the queue, 1 being next."""
        if position != self.position:
            self.position = position
            details = {"queue_position": position}
            self.tell(Progress(0.0, None, f"queued, {position - 1} ahead", details))


def fresh(error: JobError) -> JobError:
    """The same error without a traceback: one that is kept would hold the frames of the whole call."""
    return type(error)(*error.args)
