"""Changes that are not in the journal's store yet: those of one session, and all that wait.

Later changes of a session replace earlier ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from longwire.journal.journal import EventRecord, SessionRecord, StoredSession, StreamRecord

FIRST_FENCE: Final = 1  # of a session that was never another server's

_LINGER: Final = 5.0  # seconds until a time of last use is written, if nothing else is
_PART: Final = 4 << 20  # bytes that are written at once, roughly
_ITEM: Final = 200  # bytes of memory for a change besides its texts, roughly


@dataclass(slots=True)
class SessionChanges:
    """The unwritten changes of one session. Writing the same changes twice does no harm."""

    fence: int = FIRST_FENCE  # which right to the session they were made under; see buffered_journal.py
    first: int = 0  # the journal's number of the first of these changes
    begins: bool = False  # nothing was stored before: these are all of the session
    forgotten: bool = False  # everything stored so far is removed first
    withheld: bool = False  # the session goes on, but in memory alone: others are told only whose it is
    record: SessionRecord | None = None
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
        changes.save(session.record)
        for stream in session.streams:
            changes.save_stream(stream)
        for event in session.events:
            changes.append(event)
        changes.next_event, changes.next_stream = session.next_event, session.next_stream
        return changes

    @property
    def is_whole(self) -> bool:
        """Whether the changes hold the whole session."""
        return self.begins or self.forgotten

    def save(self, record: SessionRecord, *, begins: bool = False) -> int:
        """Replace the record; returns by how many bytes the changes have grown."""
        self.begins = self.begins or begins
        grown = len(record.client) + len(record.state)
        if self.record is not None:
            grown -= len(self.record.client) + len(self.record.state)
        self.record, self.last_seen = record, record.last_seen
        return self._grow(grown)

    def touch(self, last_seen: float) -> int:
        self.last_seen = last_seen
        return 0

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
            self.forgotten, self.record, self.last_seen, self.size = True, None, None, _ITEM
            self.withheld = later.withheld
            self.next_event = self.next_stream = 0
            self.streams.clear()
            self.events.clear()
        if later.record is not None:
            self.save(later.record, begins=later.begins)
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


# Makes a change, and returns by how many bytes the others have grown.
Change: TypeAlias = Callable[[SessionChanges], int]


class WaitingChanges:
    """The changes of all sessions, which one thread makes and another writes.

    Changes that somebody may wait for, the urgent ones, are numbered. Sessions are in the order of the first
    of their changes.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sessions: dict[str, SessionChanges] = {}
        self._urgent = False
        self.size = 0  # bytes of the changes, and of those that are being written
        self.last = 0  # the number of the last change
        self.closing = False  # no more will come

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    @property
    def sessions(self) -> list[str]:
        with self._changed:
            return list(self._sessions)

    # ---- for the thread that makes them -------------------------------------------------------------

    def change(self, session_id: str, fence: int, change: Change, *, urgent: bool) -> None:
        with self._changed:
            changes = self._sessions.get(session_id)
            if changes is None:
                changes = self._sessions[session_id] = SessionChanges(fence, self.last + 1)
                self.size += changes.size
            self.size += change(changes)
            self._notify(urgent)

    def put(self, session_id: str, changes: SessionChanges) -> None:
        """Have changes written in place of all that wait."""
        with self._changed:
            earlier = self._sessions.get(session_id)
            changes.first = self.last + 1 if earlier is None else earlier.first
            self._sessions[session_id] = changes
            self.size += changes.size - (0 if earlier is None else earlier.size)
            self._notify(urgent=True)

    def remove(self, session_id: str) -> None:
        with self._changed:
            waiting = self._sessions.pop(session_id, None)
            self.size -= 0 if waiting is None else waiting.size

    def close(self) -> None:
        with self._changed:
            self.closing = True
            self._changed.notify()

    def _notify(self, urgent: bool) -> None:
        """Wake the thread, unless it will look anyway. Called with the lock."""
        if urgent:
            self.last += 1
        if urgent > self._urgent or len(self._sessions) == 1:
            self._urgent |= urgent
            self._changed.notify()

    # ---- for the thread that writes them ------------------------------------------------------------

    def take(self) -> tuple[dict[str, SessionChanges], int]:
        """Wait for changes, and take the oldest of them; returns also the last number before the others."""
        with self._changed:
            due: float | None = None
            while not self._urgent and not self.closing:
                if self._sessions and due is None:
                    due = time.monotonic() + _LINGER
                if not self._changed.wait(None if due is None else due - time.monotonic()):
                    break
            batch: dict[str, SessionChanges] = {}
            size = 0
            for session_id, changes in self._sessions.items():
                if size > _PART:
                    break
                batch[session_id] = changes
                size += changes.size
            for session_id in batch:
                del self._sessions[session_id]
            self._urgent = bool(self._sessions)
            return batch, next((left.first - 1 for left in self._sessions.values()), self.last)

    def written(self, batch: dict[str, SessionChanges]) -> bool:
        """Note that changes were written; returns whether no others wait."""
        with self._changed:
            self.size -= sum([changes.size for changes in batch.values()])
            return not self._sessions

    def put_back(self, batch: dict[str, SessionChanges]) -> None:
        """Keep changes that could not be written for the next try."""
        with self._changed:
            for session_id, later in self._sessions.items():
                earlier = batch.setdefault(session_id, later)
                if earlier.fence != later.fence:  # it was another server's meanwhile
                    batch[session_id] = later
                elif earlier is not later:
                    earlier.absorb(later)
            self._sessions = batch
            self.size = sum([changes.size for changes in batch.values()])
            self._urgent = bool(batch)

    def pause(self, seconds: float) -> None:
        """Wait before the next try, unless it is the last."""
        with self._changed:
            self._changed.wait_for(lambda: self.closing, seconds)


def _cost(event: EventRecord | None) -> int:
    return 0 if event is None else len(event.payload) + _ITEM
