"""The events that a session's log keeps: how many and how large they are, which of them goes first,
and what of them is written to a durable journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longwire.journal.journal import EventRecord, Journal, StreamRecord
from longwire.sessions.streams import Event, Stream
from longwire.settings import WireLimits


class LogJournal:
    """The part of the journal that is one session's."""

    __slots__ = ("_journal", "_session_id", "is_closed")

    def __init__(self, journal: Journal, session_id: str) -> None:
        self._journal = journal
        self._session_id = session_id
        self.is_closed = False  # the log has ended: nothing is written any more

    def when_stored(self, callback: Callable[[], None]) -> None:
        """Call back when all that was written so far is stored."""
        self._journal.when_stored(callback)

    def store(self, event: Event, stream: Stream | None) -> None:
        """Write an event, again if it is on another stream than before; None: it waits for a GET."""
        if not self.is_closed:
            self._journal.append(self._session_id, event_record(event, stream))

    def save_stream(self, stream: Stream) -> None:
        """Write what is to be known of a stream."""
        if not self.is_closed:
            self._journal.save_stream(self._session_id, stream_record(stream))

    def drop(self, events: Sequence[Event]) -> None:
        """Write that there are these events no more."""
        if events and not self.is_closed:
            self._journal.drop(self._session_id, [event.number for event in events])


def event_record(event: Event, stream: Stream | None) -> EventRecord:
    return EventRecord(event.number, 0 if stream is None else stream.number, event.kind, event.payload)


def stream_record(stream: Stream) -> StreamRecord:
    return StreamRecord(stream.number, stream.request_id, stream.answered)


class KeptEvents:
    """Counts the events of one log and knows in which order they make room for others."""

    __slots__ = ("_droppable", "_limits", "_sent", "count", "pending", "pending_size", "size")

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._sent: list[Event] = []  # in the order of sending: the first go first
        self._droppable: dict[int, Event] = {}  # notifications that were not sent, by number
        self.count = 0  # all events, sent or not
        self.size = 0  # in bytes
        self.pending = 0  # messages that were not sent
        self.pending_size = 0

    @property
    def too_many(self) -> bool:
        """Whether they exceed the bounds; a single event is kept whatever its size."""
        if self.count <= 1:
            return False
        return self.count > self._limits.max_pending or self.size > self._limits.max_pending_bytes

    def fill_half(self, count: int, size: int) -> bool:
        """Whether so many events, of so many bytes, are more than half of what may be kept."""
        return count > self._limits.max_pending // 2 or size > self._limits.max_pending_bytes // 2

    @property
    def most_expendable(self) -> Event | None:
        """The event that went out first, else the oldest notification; None: there are only others."""
        if self._sent:
            return self._sent[0]
        return next(iter(self._droppable.values()), None)

    def add(self, event: Event) -> None:
        """Count an event that was not sent."""
        self.count += 1
        self.size += len(event.payload)
        self.pending += event.is_message
        self.pending_size += len(event.payload)
        if event.kind == "notification":
            self._droppable[event.number] = event

    def mark_sent(self, event: Event) -> None:
        """Note that an event was written to a client."""
        if not event.sent:
            event.sent = True
            self._sent.append(event)
            self._forget_pending(event)

    def remove(self, event: Event) -> None:
        """Count an event no longer."""
        self.count -= 1
        self.size -= len(event.payload)
        if event.sent:
            self._sent.remove(event)
        else:
            self._forget_pending(event)

    def keep_answers_longest(self) -> None:
        """Have replies and requests among the sent events go last."""
        self._sent.sort(key=lambda event: event.kind in ("reply", "request"))

    def _forget_pending(self, event: Event) -> None:
        self.pending -= event.is_message
        self.pending_size -= len(event.payload)
        self._droppable.pop(event.number, None)
