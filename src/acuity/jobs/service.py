"""The job service: runs work in other processes, a few jobs at once, and stores every job."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.errors import JobCancelled, JobError, JobTimeout, StoreError
from acuity.jobs.config import JobsConfig
from acuity.jobs.dispatch import JobDispatcher, QueuedJob
from acuity.jobs.elsewhere import Elsewhere, Siblings
from acuity.jobs.progress import Forwarder, JobOutcome, ProgressListener, forwarding
from acuity.jobs.store import Database, Store, parse
from acuity.jobs.tasks import TASKS
from acuity.jobs.worker.wire import Kind, WireError, encode
from acuity.text import one_line
from longwire.work import Job, JobSpec, JobsStats, Progress, Status, new_id

if TYPE_CHECKING:
    from acuity.jobs.node_jobs import NodeJobs

__all__ = ["ChangeListener", "Job", "JobOutcome", "Jobs", "JobsConfig", "JobsStats"]

logger: Final = logging.getLogger(__name__)

ChangeListener: TypeAlias = Callable[[Job], None]

_UNSAVED: Final = 20  # jobs held in memory because the store failed to take them
_STORING: Final = 0.5  # seconds between two times that the progress of a job is stored for other processes
_CALL_REMEDY: Final = "raise VMAF_MCP_SUBPROCESS_TIMEOUT_S or submit it as a job"
_SPLIT: Final = "split it into shorter pieces"
_JOB_REMEDY: Final = f"raise --job-time-limit or {_SPLIT}"
_OWN_REMEDY: Final = f"raise VMAF_MCP_SUBPROCESS_TIMEOUT_S or {_SPLIT}"


class Jobs:
    """The job service. It runs on the event loop that entered it.

    async with Jobs(config) as jobs:
        outcome = await jobs.run(spec, client="me")
    """

    def __init__(self, config: JobsConfig, shared: NodeJobs | None = None) -> None:
        """`shared` has the jobs of other nodes; None: there are none."""
        self._config = config
        self._shared = shared
        self._tasks_known = {*TASKS, *config.extra_tasks}
        self._entries: dict[str, QueuedJob] = {}  # jobs whose end is not stored yet
        self._unsaved: deque[str] = deque()
        # With whether they listen to jobs of other processes, too.
        self._listeners: dict[object, tuple[ChangeListener, bool]] = {}
        self._counts: Counter[str] = Counter()
        self._writing: set[asyncio.Future[None]] = set()
        self._dispatcher = JobDispatcher(config, self._started, self._ended)
        self._store = Store(config)
        self._elsewhere = Elsewhere(self._store, shared)
        self._siblings = Siblings(
            self._store,
            busy=lambda: bool(self._entries),
            heard=lambda: self._is_heard,
            on_cancel=self._cancel_own,
            on_change=partial(self._call, elsewhere=True),
        )
        self._open = False

    async def __aenter__(self) -> Jobs:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop(0.0)

    async def start(self) -> None:
        """Open the store and start a worker; raises JobError if the data folder can't be used."""
        try:
            self._dispatcher.open()
            await self._store.open()
        except BaseException:
            self._dispatcher.close()
            await self._store.close()
            raise
        self._open = True
        self._dispatcher.pool.warm_up()
        if self._shared is not None:
            self._shared.begin(self._cancel_own, partial(self._call, elsewhere=True))
        self._follow()

    def new_id(self) -> str:
        """An id for a job of this server."""
        return new_id() if self._shared is None else f"{self._shared.node}-{new_id()}"

    async def run(
        self, spec: JobSpec, *, client: str, progress: ProgressListener | None = None
    ) -> JobOutcome:
        """Run a job and wait for its result; raises JobError. Cancelling the wait cancels the job."""
        limit = spec.time_limit or self._config.time_limit
        async with forwarding(progress) as listeners:
            entry = self._admit(spec, client, limit, _CALL_REMEDY, listeners)
            self._write(self._store.do(Database.insert, entry.snapshot()))
            try:
                await self._settled(entry)
            except asyncio.CancelledError:
                self._dispatcher.stop(entry, "cancelled", _cancelled(entry))
                raise
            finally:
                entry.listeners -= listeners
        if entry.failure is not None:
            # Without its traceback, which would keep every object of the failed call alive.
            raise type(entry.failure)(*entry.failure.args)
        assert entry.text is not None
        return JobOutcome(entry.id, await parse(entry.text))

    async def submit(self, spec: JobSpec, *, client: str) -> Job:
        """Queue a job, which continues when the caller has left. Raises JobError."""
        limit = spec.time_limit or self._config.submitted_limit
        entry = self._admit(spec, client, limit, _JOB_REMEDY)
        try:
            await self._store.do(Database.insert, entry.snapshot())
        except StoreError as error:
            self._dispatcher.stop(entry, "cancelled", error)
            raise
        if self._shared is not None:  # the client may ask another node for it next
            await self._shared.told(entry.id)
        return entry.snapshot()

    async def get(self, id: str) -> Job | None:
        """The job, or None if it is unknown."""
        entry = self._entries.get(id)
        if entry is not None:
            return entry.snapshot()
        return await self._elsewhere.get(id)

    async def result(self, id: str) -> dict[str, Any] | None:
        text = await self.result_text(id)
        return None if text is None else await parse(text)

    async def result_text(self, id: str) -> str | None:
        """The document of a completed job as JSON text."""
        entry = self._entries.get(id)
        return entry.text if entry is not None else await self._elsewhere.document(id)

    async def list(
        self, statuses: Collection[Status] = (), limit: int = 100, client: str | None = None
    ) -> tuple[builtins.list[Job], bool]:
        """The newest jobs, newest first, of one client or of all, and whether there are more."""
        found = await self._elsewhere.list(statuses, limit + 1, client, self._entries.keys())
        # The store may be behind this process, or have had no room.
        stored = {job.id: job for job in found}
        oldest = found[-1].created if len(found) > limit else 0.0
        here = {entry.id: entry.snapshot() for entry in self._entries.values() if entry.created >= oldest}
        jobs = [
            job
            for job in sorted((stored | here).values(), key=lambda job: job.created, reverse=True)
            if (not statuses or job.status in statuses) and client in (None, job.client)
        ]
        return jobs[:limit], len(found) > limit or len(jobs) > limit

    async def cancel(self, id: str) -> Job | None:
        """Stop a job and return it when it is over. None if it is unknown."""
        entry = self._entries.get(id)
        if entry is not None:
            self._dispatcher.stop(entry, "cancelled", _cancelled(entry))
            await self._settled(entry)
            return entry.snapshot()
        return await self._elsewhere.cancel(id)

    async def wait(self, id: str, *, progress: ProgressListener | None = None) -> Job:
        """Wait for a job to end; raises JobError if it is unknown. Cancelling the wait leaves it running."""
        async with forwarding(progress) as listeners:
            if (entry := self._entries.get(id)) is None:
                return await self._elsewhere.wait(id, listeners)
            entry.listeners |= listeners
            if entry.progress is not None:
                for listener in listeners:
                    listener.send(entry.progress)
            try:
                await self._settled(entry)
            finally:
                entry.listeners -= listeners
            return entry.snapshot()

    def on_change(self, listener: ChangeListener, *, everywhere: bool = False) -> Callable[[], None]:
        """Call the listener when a job is created, starts or ends; returns a function that removes it.

        With `everywhere` it hears of the jobs of the server's other processes and of other nodes, too.
        """
        key = object()
        self._listeners[key] = listener, everywhere
        self._follow()

        def forget() -> None:
            self._listeners.pop(key, None)

        return forget

    def stats(self) -> JobsStats:
        pool = self._dispatcher.pool
        counted = ("submitted", "completed", "failed", "cancelled", "interrupted", "timeouts")
        return JobsStats(
            queued=self._dispatcher.queued,
            running=self._dispatcher.running,
            workers=len(pool),
            **{name: self._counts[name] for name in counted},
            workers_started=pool.started,
            workers_lost=pool.lost,
        )

    async def stop(self, grace: float) -> None:
        """Accept no more jobs, give running ones `grace` seconds, interrupt the rest, end every worker.

        May be called again while it runs: the shortest grace counts. If the wait is cancelled, the workers
        are killed at once, and the next server on the data folder marks their jobs as interrupted.
        """
        self._open = False
        try:
            await self._dispatcher.drain(grace)
            while self._writing:
                await asyncio.wait(self._writing)
            self._siblings.stop()
            if self._shared is not None:
                await self._shared.end()
            await self._dispatcher.pool.stop()
            await self._store.close()
        finally:
            self._siblings.stop()
            self._dispatcher.interrupt()
            self._dispatcher.pool.kill()
            self._dispatcher.close()

    def _admit(
        self, spec: JobSpec, client: str, limit: float, remedy: str, listeners: Collection[Forwarder] = ()
    ) -> QueuedJob:
        """A new job, running or waiting; raises JobError."""
        if not self._open:
            raise JobError("the server is stopping and takes no more work: try again when it is back")
        if spec.task not in self._tasks_known:
            raise JobError(
                f"there is no task '{spec.task}'; there are {', '.join(sorted(self._tasks_known))}"
            )
        spec = replace(spec, title=one_line(spec.title), id=spec.id or self.new_id())
        try:
            message = encode(Kind.JOB, {"task": spec.task, "payload": spec.payload})
        except (WireError, ValueError, TypeError) as error:
            raise JobError(f"'{spec.title}' can't be sent to a worker: {error}") from error
        # A job with a limit of its own keeps it when it is submitted, so its remedy doesn't say to submit it.
        own = {None: remedy, self._config.time_limit: _OWN_REMEDY, self._config.submitted_limit: _JOB_REMEDY}
        entry = QueuedJob(spec, one_line(client), message, limit, own.get(spec.time_limit, _SPLIT))
        entry.listeners.update(listeners)
        self._dispatcher.admit(entry)
        self._entries[entry.id] = entry
        self._counts["submitted"] += 1
        if self._config.data is not None:
            self._siblings.follow()
        if self._config.turns is not None or self._shared is not None:
            self._store_progress(entry)
        self._announce(entry)
        return entry

    def _follow(self) -> None:
        """Look at what the server's other processes do, if somebody listens."""
        if self._open and self._is_heard:
            self._siblings.follow()

    @property
    def _is_heard(self) -> bool:
        """Whether somebody listens to what the server's other processes do."""
        return self._config.turns is not None and any(all for _, all in self._listeners.values())

    def _cancel_own(self, id: str) -> None:
        """Stop a job of this process because another asked for it."""
        entry = self._entries.get(id)
        if entry is not None:
            self._dispatcher.stop(entry, "cancelled", _cancelled(entry))

    def _store_progress(self, entry: QueuedJob) -> None:
        """Store a job's progress now and then, for the server's other processes and other nodes."""

        async def save(progress: Progress) -> None:
            if entry.progress is not progress:  # it has started meanwhile
                return
            if self._config.turns is not None:
                await _logged(self._store.do(Database.progress, entry.id, progress))
            if self._shared is not None and not entry.over.is_set():
                self._shared.tell(entry.snapshot())
            await asyncio.sleep(_STORING)

        forwarder = entry.storing = Forwarder(save)
        entry.listeners.add(forwarder)
        if entry.progress is not None:
            forwarder.send(entry.progress)

    def _started(self, entry: QueuedJob) -> None:
        self._write(self._store.do(Database.start, entry.id, entry.started))
        self._announce(entry)

    def _ended(self, entry: QueuedJob) -> None:
        self._counts[entry.status] += 1
        self._counts["timeouts"] += isinstance(entry.failure, JobTimeout)
        if entry.storing is not None:
            entry.listeners.discard(entry.storing)
            entry.storing.drop()
        entry.saving = self._write(
            self._save(entry, self._store.do(Database.finish, entry.snapshot(), entry.text))
        )
        self._announce(entry)

    async def _save(self, entry: QueuedJob, written: Awaitable[None]) -> None:
        """Drop a finished job from memory once it is stored."""
        try:
            await written
        except StoreError as error:
            logger.error("job %s is not stored and is lost when the server stops: %s", entry.id, error)
            self._unsaved.append(entry.id)
            if len(self._unsaved) > _UNSAVED:
                self._entries.pop(self._unsaved.popleft(), None)
        else:
            self._entries.pop(entry.id, None)

    def _write(self, writing: Awaitable[None]) -> asyncio.Future[None]:
        """Write to the store in the background."""
        task = asyncio.ensure_future(_logged(writing))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    def _announce(self, entry: QueuedJob) -> None:
        job = entry.snapshot()
        if self._shared is not None:
            self._shared.tell(job, entry.text)
        self._call(job)

    def _call(self, job: Job, *, elsewhere: bool = False) -> None:
        for listener, everywhere in tuple(self._listeners.values()):
            try:
                if everywhere or not elsewhere:
                    listener(job)
            except Exception:
                logger.exception("a listener to job changes failed")

    async def _settled(self, entry: QueuedJob) -> None:
        """Wait for the end of a job of this process, and until others who may be asked for it know it."""
        await entry.over.wait()
        if self._config.turns is not None and entry.saving is not None:
            await asyncio.wait([entry.saving])
        if self._shared is not None:
            await self._shared.told(entry.id)


def _cancelled(entry: QueuedJob) -> JobCancelled:
    return JobCancelled(f"'{entry.spec.title}' was cancelled")


async def _logged(writing: Awaitable[None]) -> None:
    try:
        await writing
    except StoreError as error:
        logger.error("%s", error)
