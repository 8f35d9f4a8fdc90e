"""The journal in an SQLite file: what it keeps, and what it does while the file can't be written."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from journal_records import ALICE, BOB, SOON, FakeStore, event, found, journal, numbers, record, stored
from longwire.counters import RuntimeCounters
from longwire.errors import SettingsError
from longwire.journal import buffered_journal
from longwire.journal.buffered_journal import BufferedJournal
from longwire.journal.journal import EventRecord, StoredSession, StreamRecord
from longwire.journal.journal_file import JournalFile
from waiting import until


async def test_a_session_comes_back_as_it_was(path: Path) -> None:
    alice = record(initialized=True, state={"level": "warning", "subscriptions": ["ü://1"]})
    streams = (StreamRecord(1, None), StreamRecord(2, 7), StreamRecord(3, "7", answered=True))
    events = (
        event(1, 2, "priming", b""),
        event(2, 2, "notification", b'{"x": "\xc3\xa9"}'),
        event(3, 3, "reply", b'{"id": "7"}'),
        event(4, 0, "request", b"\x00\xff"),
    )
    async with journal(path) as kept:
        kept.save(alice)
        for stream in streams:
            kept.save_stream(ALICE, stream)
        for one in events:
            kept.append(ALICE, one)
    async with journal(path) as kept:
        assert list(kept.stored_sessions()) == [alice]
        assert kept.load(ALICE) == StoredSession(alice, streams, events, 5, 4)
        assert kept.load(BOB) is None
        assert kept.durable


async def test_later_changes_replace_earlier_ones(path: Path) -> None:
    async with journal(path) as kept:
        kept.save(record(BOB))
        kept.save(record())
        for number in range(1, 6):
            kept.append(ALICE, event(number, 0))
        await stored(kept)
        kept.append(ALICE, event(2, 1))  # is put on a stream
        kept.drop(ALICE, [1, 5])
        kept.save(record(initialized=True))
        kept.touch(ALICE, 1e10)
        kept.forget(BOB)
        kept.append(BOB, event(1))  # a message to a session that just ended
    session = found(path)
    assert [(one.number, one.stream) for one in session.events] == [(2, 1), (3, 0), (4, 0)]
    assert session.record.initialized
    assert session.record.last_seen == 1e10
    assert session.next_event == 6  # number 5 was used, though it is gone
    assert found(path, BOB) is None


async def test_streams_that_nobody_can_resume_leave_the_file(path: Path) -> None:
    async with journal(path) as kept:
        kept.save(record())
        for number in range(1, 4):
            kept.save_stream(ALICE, StreamRecord(number, number))
            kept.append(ALICE, event(number, number, "reply"))
        await stored(kept)
        kept.save_stream(ALICE, StreamRecord(1, 1, answered=True))
        kept.save_stream(ALICE, StreamRecord(2, 2, answered=True))
        kept.drop(ALICE, [2, 3])
    session = found(path)
    # The second is answered and has no events; the third has none either, but its answer is to come.
    assert session.streams == (StreamRecord(1, 1, answered=True), StreamRecord(3, 3))
    assert session.next_stream == 4


async def test_an_event_is_in_the_file_when_the_callback_comes(path: Path) -> None:
    async with journal(path) as kept:
        kept.save(record())
        with closing(sqlite3.connect(path)) as other:
            for number in range(1, 20):
                kept.append(ALICE, event(number))
                await stored(kept)
                assert other.execute("SELECT max(number) FROM events").fetchone() == (number,)


async def test_callbacks_keep_their_order_and_outlive_each_other(tmp_path: Path) -> None:
    told: list[int] = []

    def failing() -> None:
        raise RuntimeError("in a callback")

    async with journal(tmp_path / "sessions.sqlite") as kept:
        kept.when_stored(lambda: told.append(0))
        assert told == [0]  # nothing was to be stored
        kept.save(record())
        for number in range(1, 50):
            kept.append(ALICE, event(number))
            kept.when_stored(lambda number=number: told.append(number))  # type: ignore[misc]
            kept.when_stored(failing)
            if number % 10 == 0:
                await asyncio.sleep(0)
        await stored(kept)
    assert told == list(range(50))


async def test_times_of_use_are_written_with_the_rest_or_at_the_end(path: Path) -> None:
    async with journal(path) as kept:
        kept.save(record())
        await stored(kept)
        kept.touch(ALICE, 1e10)
        told: list[int] = []
        kept.when_stored(lambda: told.append(1))
        assert told == [1]  # nobody waits for a time of use
    session = found(path)
    assert session.record.last_seen == 1e10


# ---- a file that can't be written ----------------------------------------------------------------------


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that writes and doesn't end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(path: Path) -> Iterator[None]:
    """No room for files as large as these."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def moved(path: Path) -> Iterator[None]:
    path.rename(path.with_name("elsewhere"))
    path.write_bytes(b"")
    try:
        yield
    finally:
        path.with_name("elsewhere").rename(path)


@pytest.mark.parametrize("trouble", [locked, full, moved])
async def test_trouble_is_counted_and_survived(
    trouble: Callable[[Path], Iterator[None]], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The server goes on from memory, and what happened meanwhile is stored when the trouble is over."""
    counters = RuntimeCounters()
    with caplog.at_level(logging.INFO):
        kept = BufferedJournal(JournalFile(path, expired=0.0), counters, retry=0.02)
        kept.save(record())
        kept.append(ALICE, event(1, payload=b"x" * 9000))
        await stored(kept)
        with trouble(path):  # type: ignore[attr-defined]
            kept.append(ALICE, event(2, payload=b"x" * 9000))
            await stored(kept)
            assert counters.journal_failures >= 1
            told: list[int] = []
            kept.append(ALICE, event(3))
            kept.when_stored(lambda: told.append(3))
            assert told == [3]  # nobody waits for a file that can't be written
            kept.drop(ALICE, [1])
            kept.save(record(BOB))
            before = counters.journal_failures
            await until(lambda: counters.journal_failures >= before + 3)
        kept.append(ALICE, event(4))
        await until(lambda: "is written again" in caplog.text)
        await stored(kept)
        kept.close()
    assert numbers(path) == [2, 3, 4]
    assert found(path, BOB) is not None
    warnings = [line for line in caplog.messages if "would not outlive a restart" in line]
    assert len(warnings) == 1  # in a minute
    assert str(path) in warnings[0]


@pytest.mark.parametrize("ends", [("",), ("", "-wal", "-shm", "-lock")])
async def test_a_deleted_file_is_made_again_with_all_sessions(
    ends: tuple[str, ...], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = BufferedJournal(JournalFile(path, expired=0.0), RuntimeCounters(), retry=0.02)
    kept.save(record())
    kept.append(ALICE, event(1))
    await stored(kept)
    for _ in range(2):
        for end in ends:
            Path(f"{path}{end}").unlink()
        kept.save(record(BOB))
        await stored(kept)
        loaded = kept.load(ALICE)
        assert [one.number for one in loaded.events] == [1]
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SettingsError, match="in use by another server"):
        JournalFile(path, expired=0.0)
    kept.append(ALICE, event(2))
    kept.close()
    assert numbers(path) == [1, 2]
    assert found(path, BOB) is not None
    told = (
        f"the session store '{path}' was deleted while the server runs: it is made again, with all sessions"
    )
    assert caplog.messages == [told, told]


def _without_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def _cut(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_without_folder, "was deleted with its folder while the server runs: make the folder again"),
        (_cut, "was cut short while the server runs: move it away and restart the server"),
    ],
)
async def test_what_others_did_to_the_file_is_told(
    spoil: Callable[[Path], None], sentence: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "folder" / "sessions.sqlite"
    path.parent.mkdir()
    kept = BufferedJournal(JournalFile(path, expired=0.0), RuntimeCounters(), retry=0.02)
    kept.save(record())
    await stored(kept)
    spoil(path)
    kept.append(ALICE, event(1))
    await stored(kept)
    kept.close()
    assert f"the session store '{path}' {sentence}; until then" in caplog.text


def test_a_full_disk_is_told_once(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "sessions.sqlite", expired=0.0)
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    assert file.sentence(error).partition("sessions.sqlite")[2].count("full") == 1
    file.close()


def hanging() -> FakeStore:
    """A file on a disk that doesn't answer."""
    file = FakeStore()
    file.answers.clear()
    return file


async def test_a_disk_that_hangs_stops_nobody() -> None:
    file, counters = hanging(), RuntimeCounters()
    kept = BufferedJournal(file, counters, patience=0.02)
    kept.save(record())
    await stored(kept)
    assert counters.journal_failures == 1
    await stored(kept)  # at once
    file.answers.set()
    kept.append(ALICE, event(1))
    kept.close()
    assert [list(batch) for batch in file.written] == [[ALICE], [ALICE]]


async def test_a_session_that_can_t_be_read_is_none_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    file, counters = hanging(), RuntimeCounters()
    file.found, file.fails = (record(),), True
    file.answers.set()
    kept = BufferedJournal(file, counters)
    assert kept.load(ALICE) is None
    kept.close()
    assert counters.journal_failures == 1
    assert ALICE not in caplog.text  # only the beginning of a session's id is logged
    assert ALICE[:8] in caplog.text


@dataclass
class Kept:
    """A session in memory."""

    events: tuple[EventRecord, ...]
    pending: int = 2

    def snapshot(self) -> StoredSession:
        return StoredSession(record(ALICE), (), self.events, 4, 1)


async def test_a_session_that_had_no_room_is_stored_again_from_memory(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffered_journal, "_GATHER", 0.0)
    counters = RuntimeCounters()
    large = event(2, payload=b"x" * 9_000)
    kept = BufferedJournal(JournalFile(path, expired=0.0), counters, max_bytes=20_000, retry=0.02)
    kept.follow({ALICE: Kept((large, event(3)))}.get)
    kept.save(record(ALICE))
    kept.save(record(BOB))
    kept.append(ALICE, event(1))
    await stored(kept)
    with locked(path):
        kept.append(BOB, event(1))
        await stored(kept)
        before = counters.journal_failures
        kept.append(ALICE, event(2, payload=b"x" * 30_000))
        assert counters.journal_failures > before
        assert (kept.at_risk(ALICE), kept.at_risk(BOB)) == (True, True)
        kept.append(ALICE, event(3))
        kept.save(record(ALICE, initialized=True))
        kept.append(BOB, event(2))
        await until(lambda: "in memory alone" in caplog.text)
    assert await kept.flush(SOON)
    assert not kept.at_risk(ALICE)
    kept.append(ALICE, event(4))
    kept.close()
    assert numbers(path, ALICE) == [2, 3, 4]
    assert numbers(path, BOB) == [1, 2]
    assert "1 sessions with 2 messages are in memory alone" in caplog.text  # those that can be found


async def test_a_store_that_takes_nothing_is_not_waited_for_at_the_end() -> None:
    file = hanging()
    kept = BufferedJournal(file, RuntimeCounters())
    kept.save(record())
    assert not await kept.flush(0.02)
    file.answers.set()
    assert await kept.flush(SOON)
    kept.close()


async def test_much_is_written_in_parts_whose_callbacks_come_early() -> None:
    """A store that takes long for all of it is not one that doesn't answer."""
    file = hanging()
    kept = BufferedJournal(file, RuntimeCounters())
    told: list[str] = []
    for session_id in ("1", "2", "3"):
        kept.save(record(session_id))
        kept.append(session_id, event(1, payload=b"x" * (6 << 20)))
        kept.when_stored(lambda session_id=session_id: told.append(session_id))  # type: ignore[misc]
    assert kept.is_behind
    file.answers.set()
    await stored(kept)
    assert told == ["1", "2", "3"]
    assert not kept.is_behind
    kept.close()
    written = [name for batch in file.written for name in batch]
    assert written[-2:] == ["2", "3"]
    assert len(file.written) >= 3


async def test_the_file_does_not_grow_for_ever(path: Path) -> None:
    async with journal(path) as kept:
        for turn in range(4):
            session = f"{turn:032d}"
            kept.save(record(session))
            for number in range(1, 129):
                kept.append(session, event(number, payload=os.urandom(16_000)))
            await stored(kept)
            kept.forget(session)
    assert path.stat().st_size < 1 << 20  # 8 MB went through it, 2 MB at once
