"""Elsewhere: jobs that this process neither queues nor runs, looked up, waited for and cancelled.

Finished ones and those of other processes with the same data folder are in the store. Those of other nodes,
whose ids begin with another label, are where the nodes share their jobs, unless these share the folder, too.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Collection
from typing import Final

from acuity.errors import JobError
from acuity.jobs.job import Job, Progress, Status
from acuity.jobs.progress import Forwarder
from acuity.jobs.shared import SharedJobs
from acuity.jobs.siblings import POLL
from acuity.jobs.store import Store

_CANCELLING: Final = 5.0  # seconds that another process may take to end its job


class Elsewhere:
    """The jobs of other processes and nodes."""

    def __init__(self, store: Store, shared: SharedJobs | None) -> None:
        self._store = store
        self._shared = shared

    async def get(self, id: str) -> Job | None:
        """The job, or None if it is unknown; raises JobError."""
        job = await self._store.get(id)
        if job is not None and not job.over:  # its server may have ended
            await self._store.mark_interrupted()
            job = await self._store.get(id)
        shared = self._node_of(id)
        return await shared.get(id) if job is None and shared is not None else job

    async def document(self, id: str) -> str | None:
        """The result as JSON text; raises JobError."""
        text = await self._store.document(id)
        shared = self._node_of(id)
        if text is None and shared is not None and await self._store.get(id) is None:
            return await shared.document(id)
        return text

    async def list(
        self, statuses: Collection[Status], limit: int, client: str | None, here: Collection[str]
    ) -> builtins.list[Job]:
        """The newest jobs, newest first, without those of nodes that can't be asked.

        `here` are the ids of this process's jobs.
        """
        found = await self._store.list(statuses, limit, client)
        if any(not job.over and job.id not in here for job in found):
            await self._store.mark_interrupted()
            found = await self._store.list(statuses, limit, client)
        if self._shared is None:
            return found
        try:
            others = await self._shared.list()
        except JobError:  # this node's own are told without them
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

    async def wait(self, id: str, forwarder: Forwarder | None = None) -> Job:
        """Wait for a job to end; raises JobError if it is unknown or its node can't be asked."""
        told: Progress | None = None
        while (job := await self.get(id)) is not None:
            if forwarder is not None and job.progress is not None and job.progress != told:
                told = job.progress
                forwarder.send(told)
            if job.over:
                return job
            await asyncio.sleep(POLL)
        raise JobError(f"there is no job '{id}': it was never there, or it is too old to be remembered")

    async def cancel(self, id: str) -> Job | None:
        """Have a job ended by the process that has it; None if it is unknown. Raises JobError."""
        job = await self.get(id)
        if job is None or job.over:
            return job
        await self._store.ask_to_cancel(id)
        if (shared := self._node_of(id)) is not None:
            shared.cancel(id)
        try:
            return await asyncio.wait_for(self.wait(id), _CANCELLING)
        except TimeoutError:
            raise JobError(
                f"job '{id}' is another server's, which did not end it within {_CANCELLING:g} seconds: "
                "cancel it there"
            ) from None

    def _node_of(self, id: str) -> SharedJobs | None:
        """Where to ask for a job of another node; None: it is one of this node's."""
        shared = self._shared
        return None if shared is None or "-" not in id or id.startswith(f"{shared.node}-") else shared
