"""The event log of a session: one structure that is both the queue of what waits and the buffer for replays.

The log holds every event that was not sent, and those sent last. It is bounded in number and bytes: sent
events go first, then the oldest notifications that nobody was there to take. Replies and requests don't make
room for others; only when they alone exceed the bound, those go whose client has left.

With a durable journal an event is stored first and written to the client when the journal says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Final

from longwire.counters import RuntimeCounters
from longwire.journal.journal import EventKind, EventRecord, Journal, SessionRecord, StoredSession
from longwire.sessions.kept_events import KeptEvents
from longwire.sessions.streams import DURABLE_RETRY_MS, RETRY_MS, ROOM, Event, Stream, parse_event_id
from longwire.settings import WireLimits

MAX_OPEN_GETS: Final = 16  # with a connection; the oldest is ended for another
MAX_QUIET_GETS: Final = 16  # GETs without a connection or an event, whose ids are still known


class EventLog(KeptEvents):
    """The events of one session and the streams that they are on."""

    def __init__(
        self, session_id: str, journal: Journal, limits: WireLimits, counters: RuntimeCounters
    ) -> None:
        super().__init__(limits)
        self._session_id = session_id
        self._journal = journal
        self._counters = counters
        self._streams: dict[int, Stream] = {}  # those that can be attached or resumed
        self._open_gets: list[Stream] = []  # attached ones, the newest last
        self._waiting: dict[int, Event] = {}  # those that no GET has taken, by number
        self._placing: list[Event] = []  # waiting ones that are being stored as events of a GET
        self._placing_on: Stream | None = None  # that GET
        self._is_placing = False  # a journal in memory says at once that they are stored
        self._waiters: list[Callable[[], None]] = []  # are told when something was written, or a client left
        self._next_event = 1
        self._next_stream = 1
        self._is_closed = False
        self.stored: float = 0 if journal.durable else inf

    @property
    def open_gets(self) -> int:
        return len(self._open_gets)

    @property
    def retry(self) -> int:
        """Milliseconds that a client should wait before it comes back."""
        return DURABLE_RETRY_MS if self._journal.durable else RETRY_MS

    @property
    def is_crowded(self) -> bool:
        """Whether many messages wait that no GET has taken yet, though there is one."""
        return bool(self._open_gets) and self._fill_half(len(self._waiting), self.pending_bytes)

    @property
    def is_storing(self) -> bool:
        """Whether many messages wait for the store alone, since a client reads."""
        return bool(self._placing) and self.is_crowded

    def is_behind(self, stream: Stream, size: int) -> bool:
        """Whether a message of a call should wait, since connected clients have not been sent earlier ones.

        A call whose own client has been sent all of its messages need not wait for those of other calls.
        """
        if not self._fill_half(self.pending + 1, self.pending_bytes + size) or self._is_closed:
            return False
        if not stream.attached or not stream.unwritten():
            return False
        due = [event for one in self.attached_streams() for event in one.unwritten()]
        return self._fill_half(len(due) + 1, size + sum([len(event.payload) for event in due]))

    def awaits_store(self, stream: Stream) -> bool:
        """Whether events of a stream are not written because they are not stored yet."""
        return bool(stream.events) and stream.events[-1].number > self.stored

    def when_changed(self, callback: Callable[[], None]) -> None:
        """Call back once when something was written, or a client has left."""
        self._waiters.append(callback)

    def end_oldest_get(self) -> bool:
        """End the connection of the GET that was attached first; whether there was one."""
        if not self._open_gets:
            return False
        self._open_gets[0].detach()
        return True

    def attached_streams(self) -> Iterator[Stream]:
        return (stream for stream in self._streams.values() if stream.attached)

    def open_request_stream(self, request_id: str | int | None) -> Stream:
        """Begin the stream of a request; None: that of a GET."""
        stream = Stream(self, self._next_stream, request_id)
        self._next_stream += 1
        if not self._is_closed:
            self._streams[stream.number] = stream
            self._save_stream(stream)
        return stream

    def open_get_stream(self) -> Stream:
        """Begin the stream of a GET. When it is attached, it takes what waits."""
        self._counters.streams_opened += 1
        return self.open_request_stream(None)

    def resume(self, last_event_id: str) -> Stream | None:
        """Find the stream to continue after an event; None: that is no event of this session.

        An event that was dropped meanwhile still says by its id which stream it was of, so a client that was
        away for long misses notifications but not its reply.
        """
        number, position = parse_event_id(last_event_id) or (0, 0)
        stream = self._streams.get(number)
        if stream is None or position >= self._next_event:
            return None
        self._counters.streams_opened += 1
        stream.position = position
        return stream

    def notify(self, payload: bytes, kind: EventKind = "notification") -> None:
        """Add a message that belongs to no request: it goes to one GET, at once or when there is one."""
        if self._is_closed:
            return
        event = self._keep(payload, kind, None)
        self._waiting[event.number] = event
        self._place_waiting()
        if event.number in self._waiting and not (self._placing and self._placing[-1] is event):
            self._store(event)
        self._shrink()

    def close(self) -> None:
        """End every connection; nothing is added or written afterwards."""
        self._is_closed = True
        for stream in list(self._streams.values()):
            stream.detach()
        self._note_change()

    def revive(self, stored: StoredSession) -> list[Stream]:
        """Continue where an earlier process stopped; returns the streams whose requests have no reply.

        Which events on streams were written is not known: they can be replayed, and are the first to go.
        """
        self._next_event, self._next_stream = stored.next_event, stored.next_stream
        self.stored = stored.next_event - 1
        for known in stored.streams:
            stream = self._streams[known.number] = Stream(self, known.number, known.request_id)
            stream.answered = known.answered
            stream.position = stored.next_event - 1  # until its client says what it has
        for record in sorted(stored.events, key=lambda record: record.number):
            self._revive_event(record)
        self._sent.sort(key=lambda event: event.kind in ("reply", "request"))  # these go last
        for stream in list(self._streams.values()):
            self._settle(stream)
        self._shrink()
        return [stream for stream in self._streams.values() if not stream.is_get and not stream.answered]

    def snapshot(self, record: SessionRecord) -> StoredSession:
        """All that a journal should have of the session."""
        events = [*self._waiting.values(), *(e for stream in self._streams.values() for e in stream.events)]
        placing = {event.number for event in self._placing} if self._placing_on is not None else ()
        kept = tuple(
            event.record(self._placing_on if event.number in placing else event.stream)
            for event in sorted(events, key=lambda event: event.number)
        )
        streams = tuple(stream.record() for stream in self._streams.values())
        return StoredSession(record, streams, kept, self._next_event, self._next_stream)

    def _revive_event(self, record: EventRecord) -> None:
        stream = self._streams.get(record.stream)
        if stream is None and record.stream != 0:
            return
        event = Event(record.number, record.kind, record.payload, stream)
        self._count(event)
        if stream is None:
            self._waiting[event.number] = event
        else:
            stream.events.append(event)
            self._mark_sent(event)
            stream.answered = stream.answered or event.kind == "reply"

    # What streams call.

    def record(self, stream: Stream, payload: bytes, kind: EventKind) -> None:
        """Number an event, keep it in the stream's `events` and have it written when it is stored."""
        if self._is_closed or stream.number not in self._streams:
            return
        if kind == "priming" and stream.is_get:
            # A message that is on a stream when the server is killed can only be found by the stream's id.
            stream.ready = False
            if self._waiting:  # an event's id would be too high: the messages that wait are older
                number = next(iter(self._waiting)) - 1
                self._journal.when_stored(partial(self._write_greeting, stream, number))
                return
        event = self._keep(payload, kind, stream)
        stream.events.append(event)
        self._store(event)
        self._journal.when_stored(partial(self._write_stored, stream, event.number))
        self._shrink()

    def note_written(self, events: list[Event]) -> None:
        for event in events:
            if event.sent:
                self._counters.messages_resumed += event.is_message
            else:
                self._mark_sent(event)
                self._counters.messages_delivered += event.is_message
        self._shrink()
        self._note_change()

    def note_attached(self, stream: Stream) -> None:
        if stream.is_get:
            if stream in self._open_gets:
                self._open_gets.remove(stream)
            self._open_gets.append(stream)
            while len(self._open_gets) > MAX_OPEN_GETS:
                self.end_oldest_get()

    def note_room(self, stream: Stream) -> None:
        """Give the stream what waits, if it is a GET's."""
        if stream.is_get:
            self._place_waiting()

    def note_detached(self, stream: Stream) -> None:
        if stream in self._open_gets:
            self._open_gets.remove(stream)
        if stream.resumable:
            self._settle(stream)
        else:
            self.drop(stream)  # its client has no id to come back with
        self._shrink()  # what its client will not take may go now
        self._note_change()

    def note_answered(self, stream: Stream) -> None:
        self._save_stream(stream)
        if not stream.attached:
            self._settle(stream)

    def drop(self, stream: Stream) -> None:
        events = list(stream.events)
        for event in events:
            self._remove(event)
        self._note_dropped(events)
        self._retire(stream)
        stream.detach()

    def _note_change(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    # Keeping.

    def _keep(self, payload: bytes, kind: EventKind, stream: Stream | None) -> Event:
        event = Event(self._next_event, kind, payload, stream)
        self._next_event += 1
        self._count(event)
        return event

    def _remove(self, event: Event) -> None:
        self._discount(event)
        if event.stream is None:
            del self._waiting[event.number]
        else:
            event.stream.events.remove(event)

    def _shrink(self) -> None:
        dropped: list[Event] = []
        while self._are_too_many():
            # What went out first, else the oldest notification.
            event = self._sent[0] if self._sent else next(iter(self._droppable.values()), None)
            if (event := event or self._oldest_abandoned()) is None:
                break
            if not event.sent:
                self._counters.messages_dropped += event.is_message
                if event.stream is not None and event.stream.attached:
                    event.stream.has_gaps = True
            self._remove(event)
            dropped.append(event)
        self._note_dropped(dropped)
        for event in dropped:
            if event.stream is not None:
                self._settle(event.stream)

    def _oldest_abandoned(self) -> Event | None:
        """The oldest reply or request for a client that isn't there."""
        abandoned = [*self._waiting.values()]
        for stream in self._streams.values():
            # A stream that no client was ever connected to has just begun, unless it is over.
            if not stream.attached and (stream.resumable or stream.answered):
                abandoned += stream.events
        return min(abandoned, key=lambda event: event.number, default=None)

    def _settle(self, stream: Stream) -> None:
        """Forget a stream that no client can have use for."""
        if stream.events or stream.attached:
            return
        if stream.answered:
            self._retire(stream)
        elif stream.is_get:
            quiet = [s for s in self._streams.values() if s.is_get and not s.events and not s.attached]
            for oldest in quiet[:-MAX_QUIET_GETS]:
                self._retire(oldest)

    def _retire(self, stream: Stream) -> None:
        if self._streams.pop(stream.number, None) is not None and not stream.answered:
            stream.answered = True
            self._save_stream(stream)

    # Writing, and the journal before it.

    def _place_waiting(self) -> None:
        """Put waiting messages on GETs that have room, and write them.

        The newest GET with room takes them, since older ones may be dead. One batch is stored at a time: if
        its GET goes meanwhile, another takes it in the same order.
        """
        if self._is_placing:
            return
        self._is_placing = True
        try:
            while self._waiting and not self._placing and not self._is_closed:
                gets = (one for one in reversed(self._open_gets) if one.ready and one.has_room)
                if (stream := next(gets, None)) is None:
                    break
                self._placing_on, size = stream, 0
                for event in self._waiting.values():
                    self._placing.append(event)
                    self._store(event, stream)
                    size += len(event.payload)
                    if size >= ROOM:
                        break
                self._journal.when_stored(partial(self._placed, stream, self._placing))
        finally:
            self._is_placing = False

    def _placed(self, stream: Stream, batch: list[Event]) -> None:
        self._placing, self._placing_on = [], None
        self.stored = max(self.stored, batch[-1].number)
        if self._is_closed:
            return
        batch = [event for event in batch if event.number in self._waiting]  # others were dropped
        if batch and stream.attached:
            for event in batch:
                del self._waiting[event.number]
            stream.write_now(batch)
        else:
            for event in batch:
                self._store(event)
        self._place_waiting()

    def _write_greeting(self, stream: Stream, number: int) -> None:
        """Have a GET begin with an id that is no event's."""
        if not self._is_closed:
            stream.greet(number)
            self._make_ready(stream)

    def _make_ready(self, stream: Stream) -> None:
        if not stream.ready:
            stream.ready = True
            self._place_waiting()

    def _write_stored(self, stream: Stream, number: int) -> None:
        self.stored = max(self.stored, number)
        if not self._is_closed:
            stream.write_due()
            self._make_ready(stream)

    def _store(self, event: Event, stream: Stream | None = None) -> None:
        """Write an event, again if it is on another stream than before."""
        if self._journal.durable and not self._is_closed:
            self._journal.append(self._session_id, event.record(stream or event.stream))

    def _save_stream(self, stream: Stream) -> None:
        if self._journal.durable and not self._is_closed:
            self._journal.save_stream(self._session_id, stream.record())

    def _note_dropped(self, events: list[Event]) -> None:
        if events and not self._is_closed:
            self._journal.drop(self._session_id, [event.number for event in events])
