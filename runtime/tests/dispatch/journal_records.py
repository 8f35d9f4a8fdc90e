"""Records for tests of journals, and the file as a restarted server finds it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import Refusal
from longwire.journal.journal import EventKind, EventRecord, Journal, SessionRecord, StoredSession
from longwire.journal.journal_file import JournalFile
from longwire.journal.session_changes import SessionChanges
from longwire.journal.stores import open_journal

ALICE = "a" * 32
BOB = "b" * 32
SOON = 30.0  # seconds, after which a test gives up


class FakeStore:
    """Keeps what it is given, and refuses or fails as it is told."""

    def __init__(self) -> None:
        self.found: Sequence[SessionRecord] = ()
        self.failures: tuple[type[Exception], ...] = (OSError,)
        self.written: list[dict[str, SessionChanges]] = []
        self.refused: dict[str, Refusal] = {}
        self.fails = False
        self.asked = threading.Event()
        self.answers = threading.Event()
        self.answers.set()

    def __str__(self) -> str:
        return "shared"

    def write(self, changes: Mapping[str, SessionChanges]) -> Mapping[str, Refusal]:
        self.asked.set()
        self.answers.wait(SOON)
        if self.fails:
            raise OSError("gone")
        self.written.append(dict(changes))
        return {name: why for name, why in self.refused.items() if name in changes}

    def load(self, session_id: str) -> StoredSession | None:
        if self.fails:
            raise OSError("gone")
        return None

    def sentence(self, error: Exception) -> str:
        return f"'{self}' can't be used ({error})"

    def close(self) -> None: ...

    def of(self, session_id: str) -> list[SessionChanges]:
        """The changes of a session that were written."""
        return [changes[session_id] for changes in self.written if session_id in changes]


def record(session_id: str = ALICE, *, state: dict[str, Any] | None = None, **fields: Any) -> SessionRecord:
    now, client = time.time(), '{"protocolVersion":"2025-11-25","clientInfo":{"name":"tést","version":"1"}}'
    given = {"id": session_id, "principal": "token:alice", "version": "2025-11-25", "client": client}
    times = {"created": now, "last_seen": now}
    return SessionRecord(**{**given, **times, "state": json.dumps(state or {}), **fields})


def event(
    number: int, stream: int = 1, kind: EventKind = "notification", payload: bytes = b"{}"
) -> EventRecord:
    return EventRecord(number, stream, kind, payload)


@asynccontextmanager
async def journal(path: Path) -> AsyncIterator[Journal]:
    opened = open_journal(f"sqlite:{path}", ttl=60.0, counters=RuntimeCounters())
    try:
        yield opened
    finally:
        opened.close()


async def stored(journal: Journal) -> None:
    """Wait until everything is stored, or was tried to be."""
    done = asyncio.Event()
    journal.when_stored(done.set)
    await asyncio.wait_for(done.wait(), SOON)


def found(path: Path, session_id: str = ALICE) -> StoredSession | None:
    """What a server that starts now finds."""
    file = JournalFile(path, expired=0.0)
    try:
        return file.load(session_id)
    finally:
        file.close()


def numbers(path: Path, session_id: str = ALICE) -> list[int]:
    """The numbers of the events of a session that a server finds that starts now."""
    session = found(path, session_id)
    return [] if session is None else [event.number for event in session.events]
