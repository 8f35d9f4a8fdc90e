"""What a session's log writes to a durable journal: its events, its streams, and what was dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longwire.journal.journal import EventRecord, Journal, StreamRecord
from longwire.sessions.streams import Event, Stream


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
