"""Moves jobs from the queue to workers, and calls back when one starts and when it ends."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from acuity.errors import JobCancelled, JobError, JobFailed, JobTimeout
from acuity.jobs.config import JobsConfig
from acuity.jobs.progress import Forwarder
from acuity.jobs.shared_turns import SharedTurns
from acuity.jobs.turns import Turns
from acuity.jobs.worker.worker_process import NotTaken, Pool, WorkerProcess, not_started
from acuity.scoring.fronts import sentence
from longwire.work import Job, JobSpec, Progress, Status, new_id


@dataclass(eq=False, slots=True)
class QueuedJob:
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
    storing: Forwarder | None = None  # the listener that stores the progress for other processes

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


logger: Final = logging.getLogger(__name__)

_ATTEMPTS: Final = 3  # workers that may end before they take a job


class JobDispatcher:
    """Runs at most config.workers jobs and a short one, and queues at most config.queue; waiting jobs learn
    their position.

    A job that has the place for short work longer than config.short_limit is stopped, and begins again when
    it is its turn at another place. Where config.turns names a folder, the numbers count for all processes
    that use it.
    """

    def __init__(
        self, config: JobsConfig, on_start: Callable[[QueuedJob], None], on_end: Callable[[QueuedJob], None]
    ) -> None:
        """`on_start` is also called for a job that waits again."""
        self._config, self._on_start, self._on_end = config, on_start, on_end
        limits = config.workers, config.queue, config.queue_each, config.running_each
        self._turns: Turns[QueuedJob] = (
            Turns(*limits) if config.turns is None else SharedTurns(config.turns, *limits)
        )
        self._asking: asyncio.TimerHandle | None = None  # asks for turns again
        self._running: dict[QueuedJob, asyncio.Task[None]] = {}
        self.pool = Pool(config)

    @property
    def queued(self) -> int:
        return len(self._turns)

    @property
    def running(self) -> int:
        return len(self._running)

    def open(self) -> None:
        """Raises JobError if the folder of turns can't be used."""
        self._turns.open()

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self._turns.close()

    def admit(self, entry: QueuedJob) -> None:
        """Start a job or queue it; raises JobError, such as QueueFull."""
        if self._turns.enter(entry.client, entry, short=entry.spec.short):
            self._begin(entry)
        else:
            self._update_positions()
            self._ask_later()

    def stop(self, entry: QueuedJob, status: Status, reason: JobError) -> None:
        """End a job with this status. If it runs, its worker has been killed when this returns."""
        if entry.over.is_set() or entry.stop_reason is not None:
            return
        entry.stop_reason = status, reason
        if self._turns.remove(entry):
            self._settle(entry, None)
            self._update_positions()
        elif entry.worker is not None:
            entry.worker.kill()

    async def drain(self, grace: float) -> None:
        """Interrupt the waiting jobs at once, and the running ones after `grace` seconds."""
        self._interrupt_waiting()
        if self._running and grace > 0:
            await asyncio.wait(self._running.values(), timeout=grace)
        self._interrupt_waiting()  # some may have given way
        self.interrupt()
        if self._running:
            await asyncio.wait(self._running.values())

    def _interrupt_waiting(self) -> None:
        for entry in self._turns.clear():
            entry.stop_reason = "interrupted", _stopping(entry, "waited")
            self._settle(entry, None)

    def interrupt(self) -> None:
        for entry in tuple(self._running):
            self.stop(entry, "interrupted", _stopping(entry, "ran"))

    def _begin(self, entry: QueuedJob) -> None:
        entry.position = None
        self._running[entry] = asyncio.get_running_loop().create_task(self._work(entry))

    def _update_positions(self) -> None:
        for entry, place in self._turns.positions():
            entry.set_position(place)

    def _begin_waiting(self) -> None:
        """Start the waiting jobs whose turn it is."""
        while (entry := self._turns.next()) is not None:
            self._begin(entry)

    def _ask_later(self) -> None:
        """Ask again later for places, where other processes free theirs without telling."""
        if self._asking is None and self._turns.poll is not None and len(self._turns):
            self._asking = asyncio.get_running_loop().call_later(self._turns.poll, self._ask)

    def _ask(self) -> None:
        self._asking = None
        self._begin_waiting()
        self._update_positions()
        self._ask_later()

    async def _work(self, entry: QueuedJob) -> None:
        failure: JobError | None = None
        try:
            if entry.stop_reason is None:
                entry.text = await self._result(entry)
        except JobError as error:
            failure = type(error)(sentence(error, entry.spec.tool))
        except Exception:
            logger.exception("'%s' failed", entry.spec.title)
            failure = JobFailed(
                f"'{entry.spec.title}' failed in a way it should not; the server's log says more"
            )
        del self._running[entry]
        self._turns.leave(entry)
        gave_way = entry.gives_way and failure is not None and entry.stop_reason is None
        if gave_way:
            failure = self._wait_again(entry)
        self._begin_waiting()
        if failure is not None or not gave_way:
            self._settle(entry, failure)
        self._update_positions()

    def _wait_again(self, entry: QueuedJob) -> JobError | None:
        """Let a job that was no short work begin anew at another place; returns why it can't."""
        entry.status, entry.started, entry.progress, entry.gives_way = "queued", None, None, False
        try:
            if self._turns.enter(entry.client, entry, again=True):
                self._begin(entry)
        except JobError as error:
            return error
        self._ask_later()
        self._on_start(entry)
        return None

    async def _result(self, entry: QueuedJob) -> str:
        """The result's JSON text; raises JobError."""
        entry.status, entry.started, entry.progress = "running", time.time(), None
        self._on_start(entry)
        later = asyncio.get_running_loop().call_later
        timers = [later(entry.limit, self._time_out, entry)]
        if self._turns.is_short(entry):
            timers.append(later(self._config.short_limit, self._give_way, entry))
        try:
            return await self._run_on_worker(entry)
        finally:
            for timer in timers:
                timer.cancel()

    async def _run_on_worker(self, entry: QueuedJob) -> str:
        """Run the job on a worker; try another if that one ends before it has taken the job."""
        tail = ""
        for _ in range(_ATTEMPTS):
            if entry.stop_reason is not None or entry.gives_way:
                raise JobCancelled("stopped")  # stop_reason has the sentence
            worker = entry.worker = self.pool.take()
            try:
                return await worker.do(entry.message, entry.spec.title, entry.report)
            except NotTaken:
                tail = worker.tail
            except asyncio.CancelledError:
                self.pool.kill()  # the loop ends without a stop, as nothing else cancels this
                raise
            finally:
                entry.worker = None
                self.pool.give_back(worker)
        raise not_started(entry.spec.title, tail)

    def _time_out(self, entry: QueuedJob) -> None:
        text = f"'{entry.spec.title}' took longer than {entry.limit:g} seconds and was stopped"
        self.stop(entry, "failed", JobTimeout(f"{text}; {entry.limit_remedy}"))

    def _give_way(self, entry: QueuedJob) -> None:
        entry.gives_way = True
        if entry.worker is not None:
            entry.worker.kill()

    def _settle(self, entry: QueuedJob, failure: JobError | None) -> None:
        status: Status = "completed" if failure is None else "failed"
        if entry.stop_reason is not None:
            status, failure = entry.stop_reason
            entry.text = None
        entry.status, entry.failure, entry.finished, entry.position = status, failure, time.time(), None
        entry.over.set()
        self._on_end(entry)


def _stopping(entry: QueuedJob, meanwhile: str) -> JobError:
    return JobCancelled(f"the server stopped while '{entry.spec.title}' {meanwhile}: submit it again")
