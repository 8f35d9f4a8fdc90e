"""The store of jobs, for the event loop: SQLite on a thread of its own, which makes the calls in order.

The database has one connection, used by one thread at a time; it raises sqlite3.Error, OSError, StoreError.

`parse` turns the JSON text of a result into objects without blocking the event loop.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

from acuity.access.path_roots import OUTPUTS
from acuity.errors import StoreError
from acuity.jobs.config import JobsConfig
from acuity.jobs.shared_turns import Instance
from acuity.sqlite_file import open_database, shrink, transaction
from longwire.work import Job, Progress, Status

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
_P = ParamSpec("_P")


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

    def do(
        self, work: Callable[Concatenate[Database, _P], _T], *given: _P.args, **named: _P.kwargs
    ) -> Awaitable[_T]:
        """Have a method of the database called. It is queued when this is called, not when it is awaited."""
        return self._call(lambda: work(self._opened, *given, **named))

    def mark_interrupted(self) -> Awaitable[int]:
        """Mark the unfinished jobs of ended servers as interrupted; returns how many there were."""
        return self._call(self._mark_interrupted)

    def look(self, again: bool) -> Awaitable[tuple[dict[str, Job], frozenset[str]] | None]:
        """The jobs of others that are unfinished or ended a short while ago, and our jobs that they cancel.

        None: nothing new since the last look, unless asked again.
        """
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
            owner = "" if self._instance is None else self._instance.id
            self._database = Database(path, owner, *self._kept)
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

    def _look(self, again: bool) -> tuple[dict[str, Job], frozenset[str]] | None:
        if self._instance is None:
            return None  # a database in memory has no others
        marked, database = self._mark_interrupted(), self._opened
        if (version := database.version) == self._version and not marked and not again:
            return None
        self._version = version
        return database.of_others(time.time() - _RECENT), database.cancels()

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
    """The document in the text.

    The parser is one long native call that holds the interpreter's lock. A Python hook for every object lets
    other threads, such as the event loop's, run in between.
    """
    if len(text) <= _SMALL:
        return cast(dict[str, Any], json.loads(text))
    return cast(dict[str, Any], await asyncio.to_thread(json.loads, text, object_hook=_unchanged))


def _unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


_VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, instance TEXT NOT NULL,
    tool TEXT NOT NULL, title TEXT NOT NULL, client TEXT NOT NULL, status TEXT NOT NULL,
    created REAL NOT NULL, started REAL, finished REAL,
    progress TEXT, error TEXT, bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_status ON jobs (status);
CREATE TABLE results (
    id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    document TEXT NOT NULL
);
"""

# Jobs that other processes want to end. A table of its own, which servers that don't know it leave alone.
_CANCELS: Final = """
CREATE TABLE IF NOT EXISTS cancels (id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE)
"""

_FIELDS: Final = "id, tool, title, client, status, created, started, finished, progress, error"

# Finished jobs to delete: the oldest beyond a number of jobs or of bytes, but never the newest.
_OLD: Final = """
SELECT id FROM (
    SELECT id,
        row_number() OVER newest AS place,
        sum(bytes) OVER newest AS together
    FROM jobs WHERE finished IS NOT NULL
    WINDOW newest AS (ORDER BY finished DESC, number DESC)
) WHERE place > :kept OR (together > :kept_bytes AND place > 1)
"""


class Database:
    """The jobs of every server that shares the file."""

    def __init__(self, path: Path | None, owner: str, kept: int, kept_bytes: int) -> None:
        """Open or create the file; None is a database in memory. `owner` is the id of this server.

        `kept` and `kept_bytes` limit the number of finished jobs and the bytes of their results.
        """
        self._owner = owner
        self._limits = {"kept": kept, "kept_bytes": kept_bytes}
        # Other users must not read the paths of videos.
        self._connection = open_database(path, _SCHEMA, _VERSION, _refuse_newer)
        self._connection.execute(_CANCELS)

    def close(self) -> None:
        self._connection.close()

    def insert(self, job: Job) -> None:
        self._connection.execute(
            "INSERT INTO jobs (id, instance, tool, title, client, status, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job.id, self._owner, job.tool, job.title, job.client, job.status, job.created),
        )

    def start(self, id: str, when: float | None) -> None:
        """Note when a job began; None: it waits again."""
        status = "queued" if when is None else "running"
        self._connection.execute(
            "UPDATE jobs SET status = ?, started = ?, progress = NULL WHERE id = ?", (status, when, id)
        )

    def progress(self, id: str, progress: Progress) -> None:
        """Store how far an unfinished job is, for other processes."""
        self._connection.execute(
            "UPDATE jobs SET progress = ? WHERE id = ? AND status IN ('queued', 'running')",
            (json.dumps(asdict(progress)), id),
        )

    def finish(self, job: Job, document: str | None) -> None:
        """Store a finished job, and delete the oldest ones."""
        progress = None if job.progress is None else json.dumps(asdict(job.progress))
        end = (job.status, job.started, job.finished, progress, job.error, len(document or ""), job.id)
        run = self._connection.execute
        with transaction(self._connection):
            if self.get(job.id) is None:  # the disk was full when it began
                self.insert(job)
            run(
                "UPDATE jobs SET status = ?, started = ?, finished = ?, progress = ?, error = ?, bytes = ? "
                "WHERE id = ?",
                end,
            )
            run("DELETE FROM cancels WHERE id = ?", (job.id,))
            if document is not None:
                run("INSERT INTO results (id, document) VALUES (?, ?)", (job.id, document))
            old = run(f"DELETE FROM jobs WHERE id IN ({_OLD})", self._limits).rowcount
        if old:
            shrink(self._connection)

    def get(self, id: str) -> Job | None:
        rows = self._all(f"SELECT {_FIELDS} FROM jobs WHERE id = ?", id)
        return _job(rows[0]) if rows else None

    def document(self, id: str) -> str | None:
        rows = self._all("SELECT document FROM results WHERE id = ?", id)
        return str(rows[0][0]) if rows else None

    def list(self, statuses: Collection[Status], limit: int, client: str | None = None) -> list[Job]:
        """The newest jobs, newest first, of one client or of all."""
        conditions: dict[str, tuple[str, ...]] = {}
        if statuses:
            conditions[f"status IN ({', '.join('?' * len(statuses))})"] = tuple(statuses)
        if client is not None:
            conditions["client = ?"] = (client,)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        values = (*chain.from_iterable(conditions.values()), limit)
        query = f"SELECT {_FIELDS} FROM jobs {where} ORDER BY number DESC LIMIT ?"
        return [_job(row) for row in self._all(query, *values)]

    def unfinished_of(self) -> set[str]:
        """The ids of servers that have queued or running jobs."""
        query = "SELECT DISTINCT instance FROM jobs WHERE status IN ('queued', 'running')"
        return {str(row[0]) for row in self._all(query)}

    def ask_to_cancel(self, id: str) -> None:
        """Ask the server that has an unfinished job to end it."""
        self._connection.execute(
            "INSERT OR IGNORE INTO cancels (id) "
            "SELECT id FROM jobs WHERE id = ? AND status IN ('queued', 'running')",
            (id,),
        )

    def cancels(self) -> frozenset[str]:
        """The unfinished jobs of this server that others want to end."""
        query = (
            "SELECT id FROM cancels JOIN jobs USING (id) "
            "WHERE instance = ? AND status IN ('queued', 'running')"
        )
        return frozenset(str(row[0]) for row in self._all(query, self._owner))

    def of_others(self, since: float) -> dict[str, Job]:
        """The jobs of other servers that are unfinished, or ended since then."""
        query = (
            f"SELECT {_FIELDS} FROM jobs WHERE instance != ? AND status IN ('queued', 'running') UNION ALL "
            f"SELECT {_FIELDS} FROM jobs WHERE instance != ? AND finished >= ?"
        )
        return {job.id: job for job in map(_job, self._all(query, self._owner, self._owner, since))}

    @property
    def version(self) -> int:
        """A number that changes whenever another process has written."""
        return int(self._all("PRAGMA data_version")[0][0])

    def _all(self, query: str, *values: object) -> builtins.list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()

    def interrupt(self, instance: str, error: str, when: float) -> int:
        """Mark a server's unfinished jobs as interrupted; returns how many there were."""
        return self._connection.execute(
            "UPDATE jobs SET status = 'interrupted', finished = ?, error = ? "
            "WHERE instance = ? AND status IN ('queued', 'running')",
            (when, error, instance),
        ).rowcount


def _refuse_newer(version: int) -> None:
    if version > _VERSION:
        newer = f"was written by a newer Acuity (tables of version {version})"
        raise StoreError(f"{newer}: use that one, or {_ANOTHER}")


def _job(row: tuple[Any, ...]) -> Job:
    fields = dict(zip(_FIELDS.split(", "), row, strict=True))
    if fields["progress"] is not None:
        progress = fields["progress"] = Progress(**json.loads(fields["progress"]))
        if fields["status"] == "queued":  # in the queue of another process
            fields["queue_position"] = progress.details.get("queue_position")
    return Job(**fields)
