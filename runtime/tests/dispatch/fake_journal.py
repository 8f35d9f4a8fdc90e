"""A durable journal in memory that stores when it is told to, and loses what it has not stored in a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from longwire.journal.journal import EventRecord, Journal, SessionRecord, StoredSession, StreamRecord


@dataclass(slots=True)
class Entry:
    """What is stored of one session."""

    record: SessionRecord
    streams: dict[int, StreamRecord] = field(default_factory=dict)
    events: dict[int, EventRecord] = field(default_factory=dict)
    next_event: int = 1
    next_stream: int = 1


class FakeJournal(Journal):
    """Keeps to the interface: calls in order, and a callback when those before it are stored."""

    durable = True
    is_behind = False

    def __init__(self, disk: dict[str, Entry] | None = None, *, at_once: bool = False) -> None:
        self.disk = {} if disk is None else disk
        self.at_once = at_once  # stores in the same turn
        self._queue: list[Callable[[], None]] = []

    @property
    def waiting(self) -> int:
        """How many changes and callbacks wait."""
        return len(self._queue)

    def store(self, most: int | None = None) -> None:
        """Store what waits, the oldest first, and what is added by that."""
        while self._queue and most != 0:
            self._queue.pop(0)()
            most = None if most is None else most - 1

    def crash(self) -> FakeJournal:
        """The journal as the next process opens it."""
        self._queue.clear()
        return FakeJournal(self.disk, at_once=self.at_once)

    def _later(self, step: Callable[[], None]) -> None:
        self._queue.append(step)
        if self.at_once:
            self.store()

    def _change(self, session_id: str, change: Callable[[Entry], None]) -> None:
        """Change what is stored of a session by then, if anything is."""
        self._later(lambda: change(self.disk[session_id]) if session_id in self.disk else None)

    def save(self, record: SessionRecord) -> None:
        def step() -> None:
            self.disk.setdefault(record.id, Entry(record)).record = record

        self._later(step)

    def touch(self, session_id: str, last_seen: float) -> None:
        def change(entry: Entry) -> None:
            entry.record = replace(entry.record, last_seen=last_seen)

        self._change(session_id, change)

    def forget(self, session_id: str) -> None:
        self._later(lambda: self.disk.pop(session_id, None) and None)

    def save_stream(self, session_id: str, stream: StreamRecord) -> None:
        def change(entry: Entry) -> None:
            entry.streams[stream.number] = stream
            entry.next_stream = max(entry.next_stream, stream.number + 1)

        self._change(session_id, change)

    def append(self, session_id: str, event: EventRecord) -> None:
        def change(entry: Entry) -> None:
            entry.events[event.number] = event
            entry.next_event = max(entry.next_event, event.number + 1)

        self._change(session_id, change)

    def drop(self, session_id: str, numbers: Iterable[int]) -> None:
        gone = list(numbers)

        def change(entry: Entry) -> None:
            for number in gone:
                entry.events.pop(number, None)

        self._change(session_id, change)

    def when_stored(self, callback: Callable[[], None]) -> None:
        if self._queue:
            self._later(callback)
        else:
            callback()

    async def flush(self, patience: float) -> bool:
        return not self._queue

    def stored_sessions(self) -> Iterable[SessionRecord]:
        return [entry.record for entry in self.disk.values()]

    def load(self, session_id: str) -> StoredSession | None:
        entry = self.disk.get(session_id)
        if entry is None:
            return None
        streams, events = tuple(entry.streams.values()), tuple(entry.events.values())
        return StoredSession(entry.record, streams, events, entry.next_event, entry.next_stream)

    def close(self) -> None:
        self.store()
