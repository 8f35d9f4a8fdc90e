"""Records for tests of journals, and the file as a restarted server finds it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longwire.counters import RuntimeCounters
from longwire.http_runtime import open_journal
from longwire.journal.journal import EventKind, EventRecord, Journal, SessionRecord, StoredSession
from longwire.journal.journal_file import JournalFile

ALICE = "a" * 32
BOB = "b" * 32
SOON = 30.0  # seconds, after which a test gives up


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
async def journal(path: Path, counters: RuntimeCounters | None = None) -> AsyncIterator[Journal]:
    opened = open_journal(f"sqlite:{path}", ttl=60.0, counters=counters or RuntimeCounters())
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
