"""Elsewhere: jobs that this process neither queues nor runs, looked up, waited for and cancelled.

Finished ones and those of other processes with the same data folder are in the store. Those of other nodes,
whose ids begin with another label, are where the nodes share their jobs, unless these share the folder, too.

Siblings follows what other processes do with the jobs of a data folder that this one shares. The database is
asked four times a second whether others wrote to it, but only while this process has jobs that others may
cancel, or somebody listens to the changes of all jobs; once a second while nothing runs.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from acuity.errors import JobError, StoreError
from acuity.jobs.progress import Forwarder
from acuity.jobs.store import Database, Store
from longwire.work import Job, Progress, Status

if TYPE_CHECKING:
    from acuity.jobs.node_jobs import NodeJobs

logger: Final = logging.getLogger(__name__)

POLL: Final = 0.25  # seconds between two looks at the jobs of others
_IDLE: Final = 1.0  # seconds, while no job runs anywhere


@dataclass(eq=False, slots=True)
class Siblings:
    """Calls back for changes of other processes' jobs, and for jobs of this one that others cancel."""

    store: Store
    busy: Callable[[], bool]  # whether this process has jobs
    heard: Callable[[], bool]  # whether somebody listens to changes
    on_cancel: Callable[[str], None]
    on_change: Callable[[Job], None]
    _known: dict[str, Status] | None = None  # None: nobody listened until now
    _since: float = 0.0  # when somebody began to listen
    _working: bool = False  # whether others have unfinished jobs
    _task: asyncio.Task[None] | None = None

    def follow(self) -> None:
        """Look for changes from now on, for as long as there is a reason to."""
        if self._task is None:
            self._since = time.time()
            self._task = asyncio.get_running_loop().create_task(self._look())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        failed = False
        while self.busy() or self.heard():
            try:
                seen = await self.store.look(self._known is None)
            except StoreError as error:
                if not failed:
                    logger.warning("other processes can't reach the jobs of this one: %s", error)
                failed = True
            else:
                failed = False
                if seen is not None:
                    self._take_in(*seen)
            await asyncio.sleep(POLL if self._working or self.busy() else _IDLE)
        self._known = None
        self._task = None

    def _take_in(self, jobs: Mapping[str, Job], cancels: Collection[str]) -> None:
        for id in cancels:
            self.on_cancel(id)
        before, self._known = self._known, {id: job.status for id, job in jobs.items()}
        self._working = any(not job.over for job in jobs.values())
        if before is None:  # what happened since somebody began to listen is news
            before = {id: job.status for id, job in jobs.items() if job.changed < self._since}
        for id, job in jobs.items():
            if before.get(id) != job.status:
                self.on_change(job)


_CANCELLING: Final = 5.0  # seconds that another process may take to end its job


class Elsewhere:
    """The jobs of other processes and nodes."""

    def __init__(self, store: Store, shared: NodeJobs | None) -> None:
        self._store = store
        self._shared = shared

    async def get(self, id: str) -> Job | None:
        """The job, or None if it is unknown; raises JobError."""
        job = await self._store.do(Database.get, id)
        if job is not None and not job.over:  # its server may have ended
            await self._store.mark_interrupted()
            job = await self._store.do(Database.get, id)
        shared = self._node_of(id)
        return await shared.get(id) if job is None and shared is not None else job

    async def document(self, id: str) -> str | None:
        """The result as JSON text; raises JobError."""
        text = await self._store.do(Database.document, id)
        shared = self._node_of(id)
        if text is None and shared is not None and await self._store.do(Database.get, id) is None:
            return await shared.document(id)
        return text

    async def list(
        self, statuses: Collection[Status], limit: int, client: str | None, here: Collection[str]
    ) -> builtins.list[Job]:
        """The newest jobs, newest first, without those of nodes that can't be asked.

        `here` are the ids of this process's jobs.
        """
        found = await self._store.do(Database.list, statuses, limit, client)
        if any(not job.over and job.id not in here for job in found):
            await self._store.mark_interrupted()
            found = await self._store.do(Database.list, statuses, limit, client)
        if self._shared is None:
            return found
        try:
            others = await self._shared.list()
        except JobError:  # the list then has this node's own jobs only
            return found
        known = {job.id for job in found}
        found += [
            job
            for job in others
            if job.id not in known
            and (not statuses or job.status in statuses)
            and client in (None, job.client)
        ]
        return sorted(found, key=lambda job: job.created, reverse=True)[:limit]

    async def wait(self, id: str, listeners: Iterable[Forwarder] = ()) -> Job:
        """Wait for a job to end; raises JobError if it is unknown or its node can't be asked."""
        told: Progress | None = None
        while (job := await self.get(id)) is not None:
            if job.progress is not None and job.progress != told:
                told = job.progress
                for listener in listeners:
                    listener.send(told)
            if job.over:
                return job
            await asyncio.sleep(POLL)
        raise JobError(f"there is no job '{id}': it was never there, or it is too old to be remembered")

    async def cancel(self, id: str) -> Job | None:
        """Have a job ended by the process that has it; None if it is unknown. Raises JobError."""
        job = await self.get(id)
        if job is None or job.over:
            return job
        await self._store.do(Database.ask_to_cancel, id)
        if (shared := self._node_of(id)) is not None:
            shared.cancel(id)
        try:
            return await asyncio.wait_for(self.wait(id), _CANCELLING)
        except TimeoutError:
            raise JobError(
                f"job '{id}' is another server's, which did not end it within {_CANCELLING:g} seconds: "
                "cancel it there"
            ) from None

    def _node_of(self, id: str) -> NodeJobs | None:
        """The shared jobs, if the id is of another node; None: the job is one of this node's."""
        shared = self._shared
        return None if shared is None or "-" not in id or id.startswith(f"{shared.node}-") else shared
