"""The SQLite database of jobs: one connection, used by one thread at a time.

Raises sqlite3.Error, OSError and StoreError.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import closing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Final

from acuity.errors import StoreError
from acuity.jobs.job import Job, Progress, Status
from acuity.sqlite_file import open_database, shrink, transaction

_VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    instance TEXT NOT NULL,
    tool TEXT NOT NULL,
    title TEXT NOT NULL,
    client TEXT NOT NULL,
    status TEXT NOT NULL,
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    progress TEXT,
    error TEXT,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_status ON jobs (status);
CREATE TABLE results (
    id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    document TEXT NOT NULL
);
"""

# The wishes of other processes. A table of its own, which servers that don't know it leave alone.
_CANCELS: Final = """
CREATE TABLE IF NOT EXISTS cancels (
    id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE
)
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

    def __init__(self, path: Path | None) -> None:
        """Open or create the file; None is a database in memory."""
        # Other users must not read the paths of videos.
        self._connection = open_database(path, _SCHEMA, _VERSION, _refuse_newer)
        self._connection.execute(_CANCELS)

    def close(self) -> None:
        self._connection.close()

    def insert(self, job: Job, instance: str) -> None:
        self._connection.execute(
            "INSERT INTO jobs (id, instance, tool, title, client, status, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job.id, instance, job.tool, job.title, job.client, job.status, job.created),
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

    def finish(self, job: Job, document: str | None, kept: int, kept_bytes: int, instance: str = "") -> None:
        """Store a finished job, and delete the oldest ones."""
        progress = None if job.progress is None else json.dumps(asdict(job.progress))
        end = (job.status, job.started, job.finished, progress, job.error, len(document or ""), job.id)
        run = self._connection.execute
        with transaction(self._connection):
            if self.get(job.id) is None:  # the disk was full when it began
                self.insert(job, instance)
            run(
                "UPDATE jobs SET status = ?, started = ?, finished = ?, progress = ?, error = ?, bytes = ? "
                "WHERE id = ?",
                end,
            )
            run("DELETE FROM cancels WHERE id = ?", (job.id,))
            if document is not None:
                run("INSERT INTO results (id, document) VALUES (?, ?)", (job.id, document))
            old = run(
                f"DELETE FROM jobs WHERE id IN ({_OLD})", {"kept": kept, "kept_bytes": kept_bytes}
            ).rowcount
        if old:
            shrink(self._connection)

    def get(self, id: str) -> Job | None:
        with closing(self._connection.execute(f"SELECT {_FIELDS} FROM jobs WHERE id = ?", (id,))) as rows:
            row = rows.fetchone()
        return None if row is None else _job(row)

    def document(self, id: str) -> str | None:
        with closing(self._connection.execute("SELECT document FROM results WHERE id = ?", (id,))) as rows:
            row = rows.fetchone()
        return None if row is None else str(row[0])

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
        with closing(self._connection.execute(query, values)) as rows:
            return [_job(row) for row in rows]

    def unfinished_of(self) -> set[str]:
        """The ids of servers that have queued or running jobs."""
        query = "SELECT DISTINCT instance FROM jobs WHERE status IN ('queued', 'running')"
        with closing(self._connection.execute(query)) as rows:
            return {str(row[0]) for row in rows}

    def ask_to_cancel(self, id: str) -> None:
        """Ask the server that has an unfinished job to end it."""
        self._connection.execute(
            "INSERT OR IGNORE INTO cancels (id) "
            "SELECT id FROM jobs WHERE id = ? AND status IN ('queued', 'running')",
            (id,),
        )

    def cancels(self, instance: str) -> frozenset[str]:
        """The unfinished jobs of a server that others want to end."""
        query = (
            "SELECT id FROM cancels JOIN jobs USING (id) "
            "WHERE instance = ? AND status IN ('queued', 'running')"
        )
        with closing(self._connection.execute(query, (instance,))) as rows:
            return frozenset(str(row[0]) for row in rows)

    def of_others(self, instance: str, since: float) -> dict[str, Job]:
        """The jobs of other servers that are unfinished, or ended since then."""
        query = (
            f"SELECT {_FIELDS} FROM jobs WHERE instance != ? AND status IN ('queued', 'running') UNION ALL "
            f"SELECT {_FIELDS} FROM jobs WHERE instance != ? AND finished >= ?"
        )
        with closing(self._connection.execute(query, (instance, instance, since))) as rows:
            return {job.id: job for job in map(_job, rows)}

    @property
    def version(self) -> int:
        """Another number whenever somebody else has written."""
        with closing(self._connection.execute("PRAGMA data_version")) as rows:
            return int(rows.fetchone()[0])

    def interrupt(self, instance: str, error: str, when: float) -> int:
        """Mark a server's unfinished jobs as interrupted; returns how many there were."""
        return self._connection.execute(
            "UPDATE jobs SET status = 'interrupted', finished = ?, error = ? "
            "WHERE instance = ? AND status IN ('queued', 'running')",
            (when, error, instance),
        ).rowcount


def _refuse_newer(version: int) -> None:
    if version > _VERSION:
        raise StoreError(
            f"was written by a newer Acuity (tables of version {version}): "
            "use that one, or name another folder with ACUITY_DATA or --data"
        )


def _job(row: tuple[Any, ...]) -> Job:
    fields = dict(zip(_FIELDS.split(", "), row, strict=True))
    if fields["progress"] is not None:
        progress = fields["progress"] = Progress(**json.loads(fields["progress"]))
        if fields["status"] == "queued":  # in the queue of another process
            fields["queue_position"] = progress.details.get("queue_position")
    return Job(**fields)
