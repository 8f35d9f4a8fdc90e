"""CacheFile: results that can be made again, in an SQLite file that all commands share.

Several processes may use the file at once. Its size is limited: entries used longest ago are deleted first. A
cache that can't be read or written never fails the work; its notes say what happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from acuity.cache_folder import FOLDER_VARIABLE, cache_folder
from acuity.sqlite_file import open_database, shrink

LARGEST: Final = 256 << 20  # bytes of entries that are kept

_VERSION: Final = 4  # of the tables; another version is another file
_DOCUMENT: Final = "document "  # before the keys of documents, which are entries without arrays
_ENTRY: Final = 1024  # bytes that an entry costs besides its arrays

_SCHEMA: Final = """
CREATE TABLE points (
    key TEXT PRIMARY KEY, used INTEGER NOT NULL, bytes INTEGER NOT NULL,
    source TEXT NOT NULL, maker TEXT NOT NULL,
    head TEXT NOT NULL, arrays BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX points_used ON points (used, bytes);
CREATE INDEX points_source ON points (source);
"""

_USE: Final = "UPDATE points SET used = (SELECT max(used) + 1 FROM points) WHERE key = ?"
_PUT: Final = """
INSERT OR REPLACE INTO points VALUES (?, (SELECT coalesce(max(used), 0) + 1 FROM points), ?, ?, ?, ?, ?)
"""

# Points to delete: those used longest ago, beyond a number of bytes, but never the newest.
_OLD_POINTS: Final = """
DELETE FROM points WHERE key IN (
    SELECT key FROM (
        SELECT key, sum(bytes) OVER newest AS together, row_number() OVER newest AS place
        FROM points WINDOW newest AS (ORDER BY used DESC, key)
    ) WHERE together > ? AND place > 1
)
"""

# Parts of the package that no figure depends on.
_NO_ENGINE: Final = frozenset(("__pycache__", "access", "cli", "jobs", "mcp", "worker"))

_T = TypeVar("_T")
Unpack = Callable[[str, bytes], _T]  # makes the object of its JSON and its arrays


@cache
def engine_build() -> str:
    """A digest of the code that figures come from, for keys: what another build computed is never found."""
    root, digest = os.path.dirname(__file__), hashlib.sha256()
    for folder, names, files in os.walk(root):
        names[:] = sorted(set(names) - _NO_ENGINE)
        for name in sorted(files):
            path = os.path.join(folder, name)
            code = Path(path).read_bytes()
            digest.update(f"{os.path.relpath(path, root)}\0{len(code)}\0".encode())
            digest.update(code)
    return digest.hexdigest()


def cache_path(name: str) -> str:
    return os.path.join(cache_folder(), f"{name}-{_VERSION}.sqlite")


class CacheFile:
    """Entries and documents by key; any thread may use it."""

    def __init__(self, path: str | None, *, largest: int = LARGEST) -> None:
        """Open or create the file; None keeps everything in memory, for as long as the object lives."""
        self.path = path
        self.notes: list[str] = []
        self._largest = largest
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._open()

    def entry(self, key: str, unpack: Unpack[_T]) -> _T | None:
        """What `unpack` makes of the entry of that key, or None."""

        def read(connection: sqlite3.Connection) -> _T | None:
            with closing(connection.execute("SELECT head, arrays FROM points WHERE key = ?", (key,))) as rows:
                row = rows.fetchone()
            if row is None:
                return None
            found = unpack(*row)
            with suppress(sqlite3.OperationalError):  # a file that can only be read has no order to keep
                connection.execute(_USE, (key,))
            return found

        return self._run(read, None)

    def keep(self, key: str, head: str, arrays: bytes, *, source: str = "", maker: str = "") -> None:
        """Keep an entry, and delete what was used longest ago."""
        size = len(head) + len(arrays) + _ENTRY

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_PUT, (key, size, source, maker, head, arrays))
            if connection.execute(_OLD_POINTS, (self._largest,)).rowcount:
                shrink(connection)

        self._run(write, None)

    def entries_of(self, source: str, unpack: Unpack[_T]) -> list[tuple[str, str, _T]]:
        """The entries of a source: key, maker and what `unpack` makes of each."""

        def read(connection: sqlite3.Connection) -> list[tuple[str, str, _T]]:
            query = "SELECT key, maker, head, arrays FROM points WHERE source = ? ORDER BY used"
            with closing(connection.execute(query, (source,))) as rows:
                return [(key, maker, unpack(head, arrays)) for key, maker, head, arrays in rows]

        return self._run(read, [])

    def document(self, key: str) -> Any:
        """The JSON document that was remembered under that key, or None."""
        return self.entry(_DOCUMENT + key, lambda head, _: json.loads(head))

    def remember(self, key: str, document: Any) -> None:
        """Keep a JSON document under a key: the digest of a file, a list of shots."""
        self.keep(_DOCUMENT + key, json.dumps(document), b"")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], _T], otherwise: _T) -> _T:
        with self._lock:
            if self._connection is None:
                return otherwise
            try:
                return work(self._connection)
            except (sqlite3.Error, OSError, ValueError, KeyError, TypeError) as error:
                return self._failed(error, otherwise)

    def _failed(self, error: Exception, otherwise: _T) -> _T:
        """Go on without the answer; a damaged file is replaced, any other trouble is noted once."""
        damaged = not isinstance(error, sqlite3.OperationalError | OSError)
        if self._connection is not None and damaged:
            self._connection.close()
            self._connection = None
            self._move_aside(error)
            self._connect()
        else:
            self._note(f"the cache {self.path!r} can't be used fully: {error}")
        return otherwise

    def _open(self) -> None:
        try:
            self._connect()
        except (sqlite3.OperationalError, OSError) as error:
            why = getattr(error, "strerror", None) or error
            self._note(f"the cache {self.path!r} is not used: {why}; set {FOLDER_VARIABLE} to another folder")
        except sqlite3.DatabaseError as error:
            self._move_aside(error)
            with suppress(sqlite3.Error, OSError):
                self._connect()

    def _connect(self) -> None:
        if self.path is not None:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), mode=0o700, exist_ok=True)
        # The file is private: it tells which videos were encoded.
        self._connection = open_database(self.path, _SCHEMA, _VERSION, _refuse_other)

    def _move_aside(self, error: Exception) -> None:
        assert self.path is not None  # a database in memory can't be damaged
        aside = f"{self.path}.damaged"
        for end in ("-wal", "-shm"):
            with suppress(OSError):
                os.remove(self.path + end)
        try:
            os.replace(self.path, aside)
        except OSError as failure:
            self._note(f"the cache {self.path!r} is damaged ({error}) and can't be moved: {failure.strerror}")
        else:
            self._note(f"the cache {self.path!r} was damaged ({error}): moved to {aside!r}, a new one begins")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _refuse_other(version: int) -> None:
    if version != _VERSION:
        raise sqlite3.OperationalError(f"its tables are of version {version}, not {_VERSION}")
