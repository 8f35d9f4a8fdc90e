"""The SQLite file of a journal: its tables, its lock, and the checks before it is used.

Opening raises SettingsError with a sentence; everything else raises sqlite3.Error, OSError or ValueError.
Principals' keys and session ids are in the file, so only its owner may read it. Tokens are not.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from longwire.errors import SettingsError
from longwire.journal.buffered_journal import Refusal
from longwire.journal.journal import EventRecord, SessionRecord, StoredSession, StreamRecord
from longwire.journal.session_changes import SessionChanges
from longwire.sqlite_file import connect, prepare, shrink, transaction

logger: Final = logging.getLogger(__name__)

FAILURES: Final = (sqlite3.Error, OSError, ValueError)  # of a file that is full, locked, damaged…

_MAGIC: Final = b"SQLite format 3\0"  # with which the header of such a file begins
_HEADER: Final = 100  # bytes
_APPLICATION: Final = 0x4163754A  # "AcuJ", in the header: other programs' files are refused
_APPLICATION_AT: Final = 68
_VERSION_AT: Final = 60  # of the tables, as PRAGMA user_version has it
_VERSION: Final = 1
_BUSY: Final = 0.5  # seconds to wait while another process writes
_WAL: Final = 16 << 20  # bytes of the write-ahead log that stay on disk
_FREE: Final = 256  # unused pages, above which the file is made smaller
_LARGE: Final = 32 << 20  # bytes, which take a tenth of a second to check
_LEAST_ROOM: Final = 1 << 20  # bytes, below which a disk counts as full

_SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION};
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL, version TEXT NOT NULL, client TEXT NOT NULL,
    created REAL NOT NULL, last_seen REAL NOT NULL, initialized INTEGER NOT NULL, state TEXT NOT NULL,
    next_event INTEGER NOT NULL DEFAULT 1, next_stream INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE TABLE streams (
    session TEXT NOT NULL, number INTEGER NOT NULL, request_id TEXT, answered INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE events (
    session TEXT NOT NULL, number INTEGER NOT NULL,
    stream INTEGER NOT NULL, kind TEXT NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
"""
_TABLES: Final = ("sessions", "streams", "events")
_KEYS: Final = ("id", "session", "session")

_RECORD: Final = "id, principal, version, client, created, last_seen, initialized, state"
_SAVE: Final = f"""
INSERT INTO sessions ({_RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, version = excluded.version,
    client = excluded.client, last_seen = excluded.last_seen, initialized = excluded.initialized,
    state = excluded.state
"""
_SEEN: Final = "UPDATE sessions SET last_seen = ? WHERE id = ?"
# Numbers that were used once are not used again, even if their events are gone.
_NUMBERS: Final = """
UPDATE sessions SET next_event = max(next_event, ?), next_stream = max(next_stream, ?) WHERE id = ?
"""
_STREAM: Final = "INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?)"
_EVENT: Final = "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM events WHERE session = ? AND number = ?"
# Streams that are over and of which no event is left can't be resumed.
_EMPTY: Final = """
DELETE FROM streams WHERE session = ?1 AND answered
    AND number NOT IN (SELECT stream FROM events WHERE session = ?1)
"""
_FORGET: Final = [f"DELETE FROM {table} WHERE {key} = ?" for table, key in zip(_TABLES, _KEYS, strict=True)]

_ANOTHER: Final = "name another file, or use the store 'memory'"
_REMEDIES: Final = {
    "SQLITE_BUSY": "another process holds it: end that one",
    "SQLITE_FULL": f"make room on its disk, or {_ANOTHER}",
    "SQLITE_READONLY": f"make the file and its folder writable, or {_ANOTHER}",
    "SQLITE_CANTOPEN": f"make the file and its folder writable, or {_ANOTHER}",
}


class Misplaced(OSError):
    """The file is not what was opened any more: it was deleted, replaced or cut short by somebody."""


class JournalFile:
    """An open file of sessions, locked against other servers.

    `write()` is for one thread, `load()` for another. `found` has the sessions that were there already.
    """

    failures: tuple[type[Exception], ...] = FAILURES

    def __init__(self, path: Path, *, expired: float) -> None:
        """Open or create the file, and remove the sessions that were last seen before `expired`."""
        self.path = path
        self.found: Sequence[SessionRecord] = ()  # those used last at the end
        self._lock = -1
        self._connections: list[sqlite3.Connection] = []  # to be closed: the writer and the reader
        try:
            self._open(expired)
        except BaseException as error:
            self.close()
            if isinstance(error, SettingsError) or not isinstance(error, FAILURES):
                raise
            raise SettingsError(f"the session store {self.sentence(error)}") from error

    def sentence(self, error: Exception) -> str:
        """The rest of a sentence after "the session store ": what is wrong with the file, and the remedy."""
        if isinstance(error, Misplaced):
            return f"'{self.path}' {error}"
        code = getattr(error, "sqlite_errorname", "")
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        if code not in _REMEDIES and _is_full(self.path.parent):
            code, reason = "SQLITE_FULL", "the disk is full"  # which causes many different SQLite errors
        # Extended codes begin with the name of their basic code.
        remedy = next((text for name, text in _REMEDIES.items() if code.startswith(name)), None)
        if remedy is None and not isinstance(error, OSError):
            remedy = f"move it away, or {_ANOTHER}"
        return f"'{self.path}' can't be used ({reason}): {remedy or _ANOTHER}"

    def __str__(self) -> str:
        return str(self.path)

    def write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        """Store all changes, or none of them. None is refused: the file is this server's alone."""
        self._check_place()
        with transaction(self._writer):
            removed = sum([self._write(session_id, change) for session_id, change in changes.items()])
        if removed:
            self._shrink()
        return {}

    def load(self, session_id: str) -> StoredSession | None:
        query = f"SELECT {_RECORD}, next_event, next_stream FROM sessions WHERE id = ?"
        for *row, next_event, next_stream in self._rows(query, session_id):
            streams = "SELECT number, request_id, answered FROM streams WHERE session = ? ORDER BY number"
            events = "SELECT number, stream, kind, payload FROM events WHERE session = ? ORDER BY number"
            found = tuple(
                StreamRecord(number, None if request is None else json.loads(request), bool(answered))
                for number, request, answered in self._rows(streams, session_id)
            )
            kept = tuple(EventRecord(*event) for event in self._rows(events, session_id))
            return StoredSession(_record(row), found, kept, next_event, next_stream)
        return None

    def close(self) -> None:
        """Close the file, and let another server have it. May be called again."""
        for connection in self._connections:
            connection.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # ---- opening ------------------------------------------------------------------------------------

    def _open(self, expired: float) -> None:
        self._create()
        self._take_lock()
        self._inode = os.stat(self.path).st_ino
        self._writer = connect(self.path, _BUSY)
        self._connections.append(self._writer)
        self._prepare(self._writer)
        self._reader = connect(self.path, _BUSY)
        self._connections.append(self._reader)
        self._check()
        with transaction(self._writer):
            for (session_id,) in self._rows("SELECT id FROM sessions WHERE last_seen < ?", expired):
                self._write(session_id, SessionChanges(forgotten=True))
        self._shrink()
        query = f"SELECT {_RECORD} FROM sessions ORDER BY last_seen"
        self.found = tuple(_record(row) for row in self._rows(query))

    def _take_lock(self) -> None:
        """Lock the file beside this one, unless it is locked already and still there."""
        lock = os.open(f"{self.path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._lock >= 0 and os.path.sameopenfile(lock, self._lock):
            os.close(lock)
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            what = "is in use by another server: give each server a file of its own"
            raise _refusal(self.path, what) from None
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = lock

    def _create(self) -> None:
        """Create the file if it isn't there, for its owner alone from its first moment.

        SQLite gives the mode of this file to the others that it makes beside it.
        """
        _check_folder(self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self.path, flags, 0o600)
        try:
            _recognise(self.path, descriptor)
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        prepare(connection, _SCHEMA, _VERSION, lambda found: _check_version(self.path, found), log=_WAL)

    def _check(self) -> None:
        """Refuse a damaged file. In a large one, events are only looked at when they are wanted."""
        large = os.stat(self.path).st_size > _LARGE
        for table in _TABLES[: -1 if large else None]:
            for (found,) in self._rows(f"PRAGMA quick_check('{table}')"):
                if found != "ok":
                    raise sqlite3.DatabaseError(f"it is damaged: {found}")

    # ---- a file that others touch -------------------------------------------------------------------

    def _check_place(self) -> None:
        """See that the file is where it was, and make it again if it is gone; raises Misplaced."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._make_again()
            return
        if found.st_ino != self._inode:  # nobody could find what is written now
            raise Misplaced("was replaced by another file while the server runs: move that file away")
        if found.st_size < _HEADER:
            raise Misplaced("was cut short while the server runs: move it away and restart the server")

    def _make_again(self) -> None:
        """Copy all sessions from the deleted file, which stays readable while it is open, to a new one."""
        if not self.path.parent.is_dir():
            raise Misplaced("was deleted with its folder while the server runs: make the folder again")
        try:
            self._take_lock()
        except SettingsError:
            raise Misplaced("was deleted, and another server makes it again: stop one of them") from None
        for end in ("-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        self._create()
        try:
            writer = connect(self.path, _BUSY)
            self._writer.backup(writer)
            self._prepare(writer)
            self._inode = os.stat(self.path).st_ino
        except (*FAILURES, SettingsError) as error:
            self.path.unlink(missing_ok=True)  # for another try
            what = f"was deleted while the server runs and can't be made again ({error}): restart the server"
            raise Misplaced(what) from error
        # The old connections are closed when nobody uses them any more: another thread may be reading.
        self._writer, self._reader = self._connections = [writer, connect(self.path, _BUSY)]
        logger.warning(
            "the session store '%s' was deleted while the server runs: it is made again, with all sessions",
            self.path,
            extra={"event": "journal_failure"},
        )

    # ---- writing ------------------------------------------------------------------------------------

    def _write(self, session_id: str, changes: SessionChanges) -> int:
        """Returns how many things were removed."""
        run, many = self._writer.execute, self._writer.executemany
        removed = 0
        if changes.forgotten:
            for statement in _FORGET:
                removed += run(statement, (session_id,)).rowcount
        if (record := changes.record) is not None:
            run(_SAVE, [getattr(record, name) for name in _RECORD.split(", ")])
        if changes.last_seen is not None:
            run(_SEEN, (changes.last_seen, session_id))
        if changes.next_event or changes.next_stream:
            run(_NUMBERS, (changes.next_event, changes.next_stream, session_id))
        streams, events = changes.streams.values(), changes.events.items()
        for number, request, answered in ((one.number, one.request_id, one.answered) for one in streams):
            # The id as JSON, which tells 7 from "7".
            run(_STREAM, (session_id, number, None if request is None else json.dumps(request), answered))
        many(_EVENT, [(session_id, n, e.stream, e.kind, e.payload) for n, e in events if e is not None])
        if dropped := [(session_id, number) for number, event in events if event is None]:
            removed += many(_DROP, dropped).rowcount
        if dropped or any(stream.answered for stream in streams):
            removed += run(_EMPTY, (session_id,)).rowcount
        return removed

    def _shrink(self) -> None:
        """Give unused pages back to the disk, if there are many."""
        (free,) = self._writer.execute("PRAGMA freelist_count").fetchone()
        if free > _FREE:
            shrink(self._writer)

    def _rows(self, query: str, *values: object) -> list[Any]:
        with closing(self._reader.execute(query, values)) as rows:
            return rows.fetchall()


def _refusal(path: Path, what: str) -> SettingsError:
    return SettingsError(f"the session store '{path}' {what}")


def check_journal_file(path: Path) -> None:
    """Raise SettingsError if the file can't hold a journal. Changes nothing, and doesn't lock the file."""
    _check_folder(path)
    try:
        # Without waiting for the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise _refusal(path, f"can't be made: its folder can't be written; {_ANOTHER}") from None
        return
    except OSError as error:
        raise _refusal(path, f"can't be used ({error.strerror}): {_ANOTHER}") from None
    try:
        _recognise(path, descriptor)
    except sqlite3.DatabaseError as error:
        raise _refusal(path, f"can't be used ({error}): move it away, or {_ANOTHER}") from None
    finally:
        os.close(descriptor)


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise _refusal(path, f"can't be made: create the folder '{path.parent}'")


def _check_version(path: Path, version: int) -> None:
    if version != _VERSION:
        made = "a newer" if version > _VERSION else "an older"
        tables = f"tables of version {version}, not {_VERSION}"
        what = f"was written by {made} Longwire ({tables}): use that one, move the file away, or {_ANOTHER}"
        raise _refusal(path, what)


def _recognise(path: Path, descriptor: int) -> None:
    """Refuse the file of another program before anything is done to it."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(path, f"is no regular file: {_ANOTHER}")
    if not found.st_size:
        return
    header = os.pread(descriptor, _HEADER, 0)
    if not header.startswith(_MAGIC):
        raise sqlite3.DatabaseError("file is not a database")
    if int.from_bytes(header[_APPLICATION_AT : _APPLICATION_AT + 4], "big") != _APPLICATION:
        raise _refusal(path, f"is a file of another program: {_ANOTHER}")
    _check_version(path, int.from_bytes(header[_VERSION_AT : _VERSION_AT + 4], "big"))


def _record(row: Iterable[Any]) -> SessionRecord:
    record = SessionRecord(*row)
    json.loads(record.client), json.loads(record.state)  # raises ValueError where the file is damaged
    return replace(record, initialized=bool(record.initialized))


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_ROOM
    except OSError:
        return False
