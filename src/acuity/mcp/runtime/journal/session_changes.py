"""Changes of one session that are not in the journal's store yet. Later changes replace earlier ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from acuity.mcp.runtime.journal.journal import EventRecord, SessionRecord, StoredSession, StreamRecord

FIRST_FENCE: Final = 1  # of a session that was never another server's

_ITEM: Final = 200  # bytes of memory for a change besides its texts, roughly


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session's record with its documents as JSON text: what they hold later can't change it."""

    id: str
    principal: str
    version: str
    client: str
    created: float
    last_seen: float
    initialized: bool
    state: str
    notified: int = 0

    @classmethod
    def of(cls, record: SessionRecord) -> SessionRow:
        return cls(
            record.id,
            record.principal,
            record.version,
            json.dumps(dict(record.client), separators=(",", ":")),
            record.created,
            record.last_seen,
            record.initialized,
            json.dumps(dict(record.state), separators=(",", ":")),
            record.notified,
        )


@dataclass(slots=True)
class SessionChanges:
    """What has to be written for one session. Writing the same changes twice does no harm."""

    fence: int = FIRST_FENCE  # which right to the session they were made under; see buffered_journal.py
    begins: bool = False  # nothing was stored before: these are all of the session
    forgotten: bool = False  # everything stored so far is removed first
    row: SessionRow | None = None
    last_seen: float | None = None
    next_event: int = 0  # one more than the highest number of these changes
    next_stream: int = 0
    streams: dict[int, StreamRecord] = field(default_factory=dict)
    events: dict[int, EventRecord | None] = field(default_factory=dict)  # None: to be removed
    size: int = _ITEM  # bytes of memory, roughly

    @classmethod
    def whole(cls, fence: int, session: StoredSession) -> SessionChanges:
        """A session as it is, in place of all that is stored of it."""
        changes = cls(fence, forgotten=True)
        changes.save(SessionRow.of(session.record))
        for stream in session.streams:
            changes.save_stream(stream)
        for event in session.events:
            changes.append(event)
        changes.next_event, changes.next_stream = session.next_event, session.next_stream
        return changes

    @property
    def is_whole(self) -> bool:
        """Whether they are all that there is of the session."""
        return self.begins or self.forgotten

    def save(self, row: SessionRow, *, begins: bool = False) -> int:
        """Replace the record; returns by how many bytes the changes have grown."""
        self.begins = self.begins or begins
        grown = len(row.client) + len(row.state)
        if self.row is not None:
            grown -= len(self.row.client) + len(self.row.state)
        self.row, self.last_seen = row, row.last_seen
        return self._grow(grown)

    def save_stream(self, stream: StreamRecord) -> int:
        grown = 0 if stream.number in self.streams else _ITEM
        self.streams[stream.number] = stream
        self.next_stream = max(self.next_stream, stream.number + 1)
        return self._grow(grown)

    def append(self, event: EventRecord) -> int:
        earlier = self.events.get(event.number)
        grown = len(event.payload) + _ITEM - _cost(earlier)
        self.events[event.number] = event
        self.next_event = max(self.next_event, event.number + 1)
        return self._grow(grown)

    def drop(self, number: int) -> int:
        grown = -_cost(self.events.get(number))
        self.events[number] = None
        return self._grow(grown)

    def absorb(self, later: SessionChanges) -> None:
        """Add changes that were made after these."""
        if later.forgotten:
            self.forgotten, self.row, self.last_seen, self.size = True, None, None, _ITEM
            self.next_event = self.next_stream = 0
            self.streams.clear()
            self.events.clear()
        if later.row is not None:
            self.save(later.row, begins=later.begins)
        self.last_seen = self.last_seen if later.last_seen is None else later.last_seen
        for stream in later.streams.values():
            self.save_stream(stream)
        for number, event in later.events.items():
            self.drop(number) if event is None else self.append(event)
        self.next_event = max(self.next_event, later.next_event)
        self.next_stream = max(self.next_stream, later.next_stream)

    def _grow(self, by: int) -> int:
        self.size += by
        return by


def _cost(event: EventRecord | None) -> int:
    return 0 if event is None else len(event.payload) + _ITEM
