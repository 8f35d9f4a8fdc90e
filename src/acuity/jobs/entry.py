"""The state of a job that this server queues or runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from acuity.errors import JobError
from acuity.jobs.job import Job, JobSpec, Progress, Status, new_id
from acuity.jobs.progress import Forwarder
from acuity.jobs.worker.worker_process import WorkerProcess


@dataclass(eq=False, slots=True)
class Entry:
    """A queued or running job and its progress listeners. Only the service changes it, on the event loop."""

    spec: JobSpec
    client: str
    message: bytes  # the JOB message for the worker
    limit: float  # seconds it may run
    limit_remedy: str  # advice if that isn't enough
    id: str = field(init=False)
    created: float = field(default_factory=time.time)
    status: Status = "queued"
    started: float | None = None
    finished: float | None = None
    progress: Progress | None = None
    position: int | None = None
    failure: JobError | None = None
    text: str | None = None  # the result
    worker: WorkerProcess | None = None  # the process that runs it
    stop_reason: tuple[Status, JobError] | None = None  # the first reason to stop it
    gives_way: bool = False  # was stopped because it is no short work, and begins again
    saving: asyncio.Future[None] | None = None  # its end is being stored
    over: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: set[Forwarder] = field(default_factory=set)
    storing: Forwarder | None = None  # the one of them that stores the progress for other processes

    def __post_init__(self) -> None:
        self.id = self.spec.id or new_id()

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

    def report(self, progress: Progress) -> None:
        self.progress = progress
        for listener in self.listeners:
            listener.send(progress)

    def set_position(self, position: int) -> None:
        """Note its position in the queue (1 is next) and report it as progress."""
        if position != self.position:
            self.position = position
            details = {"queue_position": position}
            self.report(Progress(0.0, None, f"queued, {position - 1} ahead", details))


def without_traceback(error: JobError) -> JobError:
    """The same error without its traceback, which would keep every object of the failed call alive."""
    return type(error)(*error.args)
