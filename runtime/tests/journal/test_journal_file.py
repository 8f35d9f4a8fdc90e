"""The file of a journal: who may read it, and which files are refused with which sentence."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from journal_records import ALICE, BOB, event, found, journal, record, stored
from longwire.counters import RuntimeCounters
from longwire.errors import SettingsError
from longwire.journal.journal_file import JournalFile, check_journal_file
from longwire.journal.stores import open_journal


def opened(store: str) -> None:
    async def main() -> None:
        open_journal(store, ttl=60.0, counters=RuntimeCounters()).close()

    asyncio.run(main())


def filled(path: Path, *, events: int = 3, **fields: object) -> None:
    """A file with a session."""

    async def main() -> None:
        async with journal(path) as kept:
            kept.save(record(**fields))
            for number in range(1, events + 1):
                kept.append(ALICE, event(number, payload=b"x" * 500))

    asyncio.run(main())


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_only_the_owner_may_read_what_is_written(tmp_path: Path, path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:

        async def main() -> None:
            async with journal(path) as kept:
                kept.save(record())
                names = {file.name for file in tmp_path.iterdir()}
                assert names == {f"sessions.sqlite{end}" for end in ("", "-wal", "-shm", "-lock")}
                for file in tmp_path.iterdir():
                    assert file.stat().st_mode & 0o777 == 0o600

        asyncio.run(main())
    finally:
        os.umask(before)


def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    filled(path)
    path.chmod(0o664)
    opened(f"sqlite:{path}")
    assert path.stat().st_mode & 0o777 == 0o600


def test_memory_keeps_nothing() -> None:
    kept = open_journal("memory", ttl=60.0, counters=RuntimeCounters())
    assert not kept.durable


async def test_sessions_that_nobody_used_are_removed_at_the_start(path: Path) -> None:
    async with journal(path) as kept:
        kept.save(record(ALICE, last_seen=time.time() - 61.0))
        kept.append(ALICE, event(1))
        kept.save(record(BOB, last_seen=time.time() - 50.0))
    async with journal(path) as kept:
        assert [session.id for session in kept.stored_sessions()] == [BOB]
        assert kept.load(ALICE) is None
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM events").fetchone() == (0,)


async def test_a_file_is_known_as_ours_before_its_first_checkpoint(tmp_path: Path, path: Path) -> None:
    """A server may be killed when all but the header is in the write-ahead log."""
    async with journal(path) as kept:
        kept.save(record())
        await stored(kept)
        for file in list(tmp_path.iterdir()):
            copy = tmp_path / file.name.replace("sessions", "copy")
            copy.write_bytes(file.read_bytes())
    assert (tmp_path / "copy.sqlite-wal").stat().st_size > 0
    assert found(tmp_path / "copy.sqlite") is not None


def test_no_token_is_in_the_file(path: Path) -> None:
    """The file has the columns of the records and no others."""
    filled(path)
    with closing(sqlite3.connect(path)) as file:
        columns = {row[1] for row in file.execute("PRAGMA table_info('sessions')")}
    assert columns == {
        *("id", "principal", "version", "client", "created", "last_seen", "initialized", "state"),
        *("next_event", "next_stream"),
    }


# ---- files that are refused ----------------------------------------------------------------------------


def _text(path: Path) -> None:
    path.write_text("these are notes of mine, and by no means a database\n" * 100)


def _cut(path: Path) -> None:
    filled(path, events=500)
    os.truncate(path, 8192)


def _overwritten(path: Path) -> None:
    filled(path, events=500)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))


_NOTES = "CREATE TABLE notes (text)"
_NEWER, _OLDER = (f"PRAGMA user_version = {version}" for version in (99, 0))


def _filled_and(statement: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        filled(path)
        _run(path, statement)

    return spoil


def _run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(statement)


@pytest.mark.parametrize(
    ("kind", "spoil", "reason"),
    [
        ("foreign", _text, "can't be used (file is not a database): move it away, or name another file"),
        ("damaged", _cut, "malformed): move it away, or name another file"),
        ("damaged", _overwritten, "can't be used ("),
        ("damaged", _filled_and("UPDATE sessions SET client = '{'"), "move it away, or name another file"),
        ("foreign", partial(_run, statement=_NOTES), "is a file of another program: name another file"),
        ("ours", _filled_and(_NEWER), "by a newer Longwire (tables of version 99, not 1): use that one"),
        ("ours", _filled_and(_OLDER), "by an older Longwire (tables of version 0, not 1): use that one"),
        ("foreign", Path.mkdir, "(Is a directory): name another file"),
        ("foreign", os.mkfifo, "is no regular file: name another file"),
    ],
)
def test_files_that_can_t_be_continued_are_left_alone(
    tmp_path: Path, path: Path, kind: str, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(path)
    path.chmod(0o755)
    before = path.read_bytes() if path.is_file() else None
    if kind != "damaged":
        there = sorted(tmp_path.iterdir())
        with pytest.raises(SettingsError, match=re.escape(reason.removeprefix("(Is a directory): "))):
            check_journal_file(path)
        assert sorted(tmp_path.iterdir()) == there
    with pytest.raises(SettingsError) as refused:
        opened(f"sqlite:{path}")
    sentence = str(refused.value)
    assert sentence.startswith(f"the session store '{path}' ")
    assert reason in sentence
    assert "\n" not in sentence
    assert before == (path.read_bytes() if path.is_file() else None)
    if kind == "foreign":
        assert path.stat().st_mode & 0o777 == 0o755  # it is somebody else's
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        *((store, "is no store: use memory or sqlite:PATH") for store in ("", "my:x", "sqlite", "memory:x")),
        ("redis://localhost:6379", "is no store: use memory or sqlite:PATH, or set [cluster] redis"),
        ("redis://u:secret@host/0", "'redis:…@host/0' is no store"),
        ("sqlite::memory:", "names no file: use memory"),
        ("sqlite:/no/such/folder/file", "can't be made: create the folder '/no/such/folder'"),
        ("sqlite:/dev/null", "is no regular file"),
        ("sqlite:/proc/version", "can't be used"),
        ("sqlite:/tmp/a\0b", "can't be used (embedded null byte)"),
        ("sqlite:/tmp/" + "n" * 300, "can't be used (File name too long)"),
    ],
)
def test_stores_that_can_t_be(store: str, reason: str) -> None:
    with pytest.raises(SettingsError) as refused:
        opened(store)
    assert reason in str(refused.value)


@contextmanager
def _unprivileged(folder: Path) -> Iterator[None]:
    """A user who may read the folder and write nothing there."""
    user = os.geteuid()
    folder.chmod(0o755 if user == 0 else 0o555)
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


def test_a_folder_or_file_that_is_read_only() -> None:
    with TemporaryDirectory() as name:
        path = Path(name, "sessions.sqlite")
        with _unprivileged(path.parent), pytest.raises(SettingsError, match="Permission denied"):
            opened(f"sqlite:{path}")
        filled(path)
        path.chmod(0o444)
        with _unprivileged(path.parent), pytest.raises(SettingsError, match="Permission denied"):
            opened(f"sqlite:{path}")


def test_two_servers_don_t_share_a_file(path: Path) -> None:
    first = JournalFile(path, expired=0.0)
    with pytest.raises(SettingsError, match="in use by another server: give each server a file of its own"):
        JournalFile(path, expired=0.0)
    first.close()
    first.close()
    JournalFile(path, expired=0.0).close()


def test_a_file_that_another_program_has_locked(path: Path) -> None:
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SettingsError, match="another process holds it: end that one"):
            opened(f"sqlite:{path}")
    assert found(path) is not None
