"""SQLite files: for their owner alone, with tables of one version, a write-ahead log, and pages given back.

Several processes may open a file at once. Raises sqlite3.Error and OSError.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_BUSY: Final = 5.0  # seconds to wait while another process writes
_LOG: Final = 64 << 20  # bytes of the write-ahead log that stay on disk
Refuse = Callable[[int], None]  # gets the version of the tables that are there, and raises if it is no use


def open_database(
    path: str | os.PathLike[str] | None, schema: str, version: int, refuse: Refuse
) -> sqlite3.Connection:
    """Open or make a file that only its owner can read, with its tables; None is a database in memory."""
    if path is not None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(
        path or ":memory:", timeout=_BUSY, isolation_level=None, check_same_thread=False
    )
    try:
        _prepare(connection, schema, version, refuse)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, schema: str, version: int, refuse: Refuse) -> None:
    """Make the tables of a new file, or see whether those that are there can be used.

    The log begins last: until then everything goes to the file itself, so that its header is true.
    """
    run = connection.execute
    if not _version(connection):
        run("PRAGMA auto_vacuum = INCREMENTAL")  # has no effect after the first table
        with transaction(connection):
            if not _version(connection):  # another process may have made them meanwhile
                for statement in (*schema.split(";"), f"PRAGMA user_version = {version}"):
                    run(statement)
    refuse(_version(connection))
    _use_log(connection)
    run(f"PRAGMA journal_size_limit = {_LOG}")
    run("PRAGMA synchronous = NORMAL")  # outlives the process; the last moments may go with the power
    run("PRAGMA foreign_keys = ON")


def _version(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite doesn't wait for others that just do the same."""
    until = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All changes of the block, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some errors have ended it already
            connection.execute("ROLLBACK")
        raise


def shrink(connection: sqlite3.Connection) -> None:
    """Give unused pages back to the disk."""
    connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page
