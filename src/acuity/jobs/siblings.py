"""Siblings: follows what other processes do with the jobs of a data folder that this one shares.

The database is asked four times a second whether others wrote to it, but only while this process has jobs
that others may cancel, or somebody listens to the changes of all jobs; once a second while nothing runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from acuity.errors import StoreError
from acuity.jobs.job import Job, Status

logger: Final = logging.getLogger(__name__)

POLL: Final = 0.25  # seconds between two looks at the jobs of others
_IDLE: Final = 1.0  # seconds, while no job runs anywhere


@dataclass(frozen=True, slots=True)
class Seen:
    """What the database says about others."""

    jobs: Mapping[str, Job]  # jobs of others that are unfinished or ended a short while ago
    cancels: frozenset[str]  # jobs of this process that others want to end


class Watched(Protocol):
    """The part of the store that is needed here."""

    def look(self, again: bool) -> Awaitable[Seen | None]:
        """What others did; None: nothing since the last look, unless asked again. Raises StoreError."""
        ...


class Siblings:
    """Calls back for changes of other processes' jobs, and for jobs of this one that others cancel."""

    def __init__(
        self,
        store: Watched,
        *,
        busy: Callable[[], bool],
        heard: Callable[[], bool],
        on_cancel: Callable[[str], None],
        on_change: Callable[[Job], None],
    ) -> None:
        self._store = store
        self._busy = busy  # whether this process has jobs
        self._heard = heard  # whether somebody listens to changes
        self._on_cancel = on_cancel
        self._on_change = on_change
        self._known: dict[str, Status] | None = None  # None: nobody listened until now
        self._since = 0.0  # when somebody began to listen
        self._working = False  # whether others have unfinished jobs
        self._task: asyncio.Task[None] | None = None

    def follow(self) -> None:
        """Look from now on, for as long as there is a reason to."""
        if self._task is None:
            self._since = time.time()
            self._task = asyncio.get_running_loop().create_task(self._look())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        failed = False
        while self._busy() or self._heard():
            try:
                seen = await self._store.look(self._known is None)
            except StoreError as error:
                if not failed:
                    logger.warning("other processes can't reach the jobs of this one: %s", error)
                failed = True
            else:
                failed = False
                if seen is not None:
                    self._take_in(seen)
            await asyncio.sleep(POLL if self._working or self._busy() else _IDLE)
        self._known = None
        self._task = None

    def _take_in(self, seen: Seen) -> None:
        for id in seen.cancels:
            self._on_cancel(id)
        before, self._known = self._known, {id: job.status for id, job in seen.jobs.items()}
        self._working = any(not job.over for job in seen.jobs.values())
        if before is None:  # what happened since somebody began to listen is news
            before = {id: job.status for id, job in seen.jobs.items() if job.changed < self._since}
        for id, job in seen.jobs.items():
            if before.get(id) != job.status:
                self._on_change(job)
