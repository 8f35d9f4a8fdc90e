"""The store of jobs, for the event loop: SQLite on a thread of its own, which makes the calls in order.

`parse` turns the JSON text of a result into objects without blocking the event loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from acuity.access.path_roots import OUTPUTS
from acuity.errors import StoreError
from acuity.jobs.config import JobsConfig
from acuity.jobs.database import Database
from acuity.jobs.instances import Instance
from acuity.jobs.job import Job, Progress, Status

logger: Final = logging.getLogger(__name__)

FILE: Final = "jobs.sqlite"
_INTERRUPTED: Final = "the server ended while this job was waiting or running: submit it again"

_RECENT: Final = 30.0  # seconds for which the end of another server's job is news
_LEAST_ROOM: Final = 1 << 20  # bytes, below which a disk counts as full
_ANOTHER: Final = "name another folder with ACUITY_DATA or --data"
_REMEDIES: Final = {
    "SQLITE_BUSY": "another process holds it; try again",
    "SQLITE_FULL": f"the disk is full: make room, or {_ANOTHER}",
    "SQLITE_READONLY": f"make it writable, or {_ANOTHER}",
    "SQLITE_CANTOPEN": f"make it readable and writable, or {_ANOTHER}",
}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the database says about others."""

    jobs: Mapping[str, Job]  # jobs of others that are unfinished or ended a short while ago
    cancels: frozenset[str]  # jobs of this process that others want to end


class Store:
    """The stored jobs. Every method except close() raises StoreError with a sentence that names the file."""

    def __init__(self, config: JobsConfig) -> None:
        self._folder = config.data
        self._kept = (config.kept, config.kept_bytes)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jobs store")
        self._database: Database | None = None
        self._instance: Instance | None = None
        self._closed = False
        self._version = -1  # of the database, at the last look

    async def open(self) -> None:
        """Open or create the database, and mark the unfinished jobs of ended servers as interrupted."""
        await self._call(self._open)
        await self.mark_interrupted()

    # Each of these is queued for the thread when it is called, not when it is awaited.

    def insert(self, job: Job) -> Awaitable[None]:
        owner = "" if self._instance is None else self._instance.id
        return self._call(lambda: self._opened.insert(job, owner))

    def start(self, id: str, when: float | None) -> Awaitable[None]:
        return self._call(lambda: self._opened.start(id, when))

    def progress(self, id: str, progress: Progress) -> Awaitable[None]:
        return self._call(lambda: self._opened.progress(id, progress))

    def finish(self, job: Job, document: str | None) -> Awaitable[None]:
        owner = "" if self._instance is None else self._instance.id
        return self._call(lambda: self._opened.finish(job, document, *self._kept, owner))

    def get(self, id: str) -> Awaitable[Job | None]:
        return self._call(lambda: self._opened.get(id))

    def document(self, id: str) -> Awaitable[str | None]:
        return self._call(lambda: self._opened.document(id))

    def list(
        self, statuses: Collection[Status], limit: int, client: str | None = None
    ) -> Awaitable[list[Job]]:
        return self._call(lambda: self._opened.list(statuses, limit, client))

    def mark_interrupted(self) -> Awaitable[int]:
        """Mark the unfinished jobs of ended servers as interrupted; returns how many there were."""
        return self._call(self._mark_interrupted)

    def ask_to_cancel(self, id: str) -> Awaitable[None]:
        """Ask the server that has a job to end it."""
        return self._call(lambda: self._opened.ask_to_cancel(id))

    def look(self, again: bool) -> Awaitable[Seen | None]:
        """What other servers did with jobs; None: nothing since the last look, unless asked again."""
        return self._call(lambda: self._look(again))

    async def close(self) -> None:
        """Close the database after all earlier calls. May be called again."""
        if self._closed:
            return
        self._closed = True
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)
        await closing

    def _call(self, function: Callable[[], _T]) -> Awaitable[_T]:
        if self._closed:
            raise StoreError("the memory of jobs is closed: the server is stopping")
        return self._answer(asyncio.get_running_loop().run_in_executor(self._thread, function))

    async def _answer(self, call: Awaitable[_T]) -> _T:
        try:
            return await call
        except (sqlite3.Error, OSError, StoreError, UnicodeError) as error:
            raise StoreError(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        if self._folder is None:
            return f"the memory of jobs can't be used: {error}"
        file = self._folder / FILE
        if isinstance(error, StoreError):
            return f"'{file}' {error}"
        if isinstance(error, OSError):
            return f"'{self._folder}' can't hold the memory of jobs ({error.strerror}): {_ANOTHER}"
        code = getattr(error, "sqlite_errorname", "")
        if code not in _REMEDIES and _is_full(self._folder):
            code = "SQLITE_FULL"  # a full disk causes many different SQLite errors
        remedy = _REMEDIES.get(code, f"move it away, or {_ANOTHER}")
        return f"'{file}' can't be used as the memory of jobs ({error}): {remedy}"

    # The methods below run on the store's thread.

    @property
    def _opened(self) -> Database:
        if self._database is None:
            raise StoreError("is closed: the server is stopping")
        return self._database

    def _open(self) -> None:
        path: Path | None = None
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / OUTPUTS).mkdir(mode=0o700, exist_ok=True)  # clients make no folder
            self._instance = Instance(self._folder / "servers")
            path = self._folder / FILE
        try:
            self._database = Database(path)
        except BaseException:
            self._close()
            raise

    def _mark_interrupted(self) -> int:
        instance, database = self._instance, self._opened
        if instance is None:
            return 0
        marked = 0
        for other in database.unfinished_of():
            if not instance.alive(other):
                count = database.interrupt(other, _INTERRUPTED, time.time())
                logger.info("%d jobs of a server that has ended are marked as interrupted", count)
                marked += count
        instance.tidy()
        return marked

    def _look(self, again: bool) -> Seen | None:
        if self._instance is None:
            return None  # a database in memory has no others
        marked, database = self._mark_interrupted(), self._opened
        if (version := database.version) == self._version and not marked and not again:
            return None
        me, self._version = self._instance.id, version
        return Seen(database.of_others(me, time.time() - _RECENT), database.cancels(me))

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._instance is not None:
            self._instance.close()
            self._instance = None


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_ROOM
    except OSError:
        return False


_SMALL: Final = 64 << 10  # characters that are parsed in well under a millisecond


async def parse(text: str) -> dict[str, Any]:
    """The document in the text."""
    if len(text) <= _SMALL:
        return cast(dict[str, Any], json.loads(text))
    return await asyncio.to_thread(_parse_in_slices, text)


def _parse_in_slices(text: str) -> dict[str, Any]:
    # The parser is one long native call that holds the interpreter's lock. A Python hook for every object
    # lets other threads, such as the event loop's, run in between.
    return cast(dict[str, Any], json.loads(text, object_hook=_unchanged))


def _unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value
