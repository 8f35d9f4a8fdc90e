"""Streams of a session: the events of one request or of one GET, written as fast as the client reads them.

A stream outlives its connections. Each event has an id with which a client that comes back continues.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Final, Protocol

from longwire.journal.journal import EventKind, EventRecord, StreamRecord
from longwire.wire.http.request import Responder

# Bytes that a client may leave unread before nothing more is written to it. Not less than what makes an event
# loop call pause_writing(), since only then it says when there is room again.
ROOM: Final = 64 << 10
RETRY_MS: Final = 1000  # how long a client should wait before it resumes a stream
# The same with a durable journal, so that clients which try only a few times find the restarted server.
DURABLE_RETRY_MS: Final = 3000

_EVENT_ID: Final = re.compile(r"([1-9][0-9]{0,17})-(0|[1-9][0-9]{0,17})", re.ASCII)
_BY_NUMBER: Final = attrgetter("number")


@dataclass(slots=True, eq=False)
class Event:
    """A message of a session, or an id without one."""

    number: int
    kind: EventKind
    payload: bytes
    stream: Stream | None  # None: it waits for a GET
    sent: bool = False  # it was written to a client at least once

    @property
    def is_message(self) -> bool:
        return self.kind != "priming"

    def record(self, stream: Stream | None) -> EventRecord:
        return EventRecord(self.number, 0 if stream is None else stream.number, self.kind, self.payload)

    def text(self, stream: int, retry: int) -> bytes:
        """The event as it is written; `retry`: milliseconds to wait before the stream is resumed."""
        if not self.is_message:
            return _priming(stream, self.number, retry)
        return b"id: %d-%d\nevent: message\ndata: %b\n\n" % (stream, self.number, self.payload)


def parse_event_id(text: str) -> tuple[int, int] | None:
    """The numbers of the stream and the event that an id names; None: it is no id."""
    found = _EVENT_ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


def _priming(stream: int, number: int, retry: int) -> bytes:
    return b"id: %d-%d\nretry: %d\ndata: \n\n" % (stream, number, retry)


class Keeper(Protocol):
    """What keeps the events of a session's streams, as a stream sees it."""

    stored: float  # the number of the last event that the journal has

    @property
    def retry(self) -> int: ...
    def record(self, stream: Stream, payload: bytes, kind: EventKind) -> None: ...
    def note_written(self, events: list[Event]) -> None: ...
    def note_attached(self, stream: Stream) -> None: ...
    def note_room(self, stream: Stream) -> None: ...
    def note_detached(self, stream: Stream) -> None: ...
    def note_answered(self, stream: Stream) -> None: ...


class Stream:
    """One stream of a session. Its events are kept in order; those after `position` are due to its client."""

    def __init__(self, keeper: Keeper, number: int, request_id: str | int | None) -> None:
        self._keeper = keeper
        self._responder: Responder | None = None
        self._is_closing = False  # its response ends as soon as the client has an id to come back with
        self.number = number
        self.request_id = request_id  # None: a GET
        self.answered = False  # its reply is among the events, or none will come
        self.events: list[Event] = []  # by rising numbers
        self.has_gaps = False  # a message made room for others while its client was connected
        self.position = -1  # the number of the last event that the client was written, or says that it has
        self.ready = True  # for messages that wait: its client has been written an id, or will get none

    def record(self) -> StreamRecord:
        return StreamRecord(self.number, self.request_id, self.answered)

    @property
    def is_get(self) -> bool:
        return self.request_id is None

    @property
    def attached(self) -> bool:
        return self._responder is not None and not self._responder.gone

    @property
    def has_room(self) -> bool:
        """Whether a client is connected that reads what it is sent."""
        return self.attached and self._responder is not None and self._responder.unsent <= ROOM

    @property
    def resumable(self) -> bool:
        """Whether a client was written an id to come back with."""
        return self.position >= 0

    def attach(self, responder: Responder) -> None:
        """Write the due events to a response that has begun, and those that follow as they come.

        An earlier response of this stream is ended. The new one ends after the reply.
        """
        self._end_response()
        self._responder = responder
        responder.on_gone(partial(self._left, responder))
        responder.on_room(partial(self._freed, responder))
        self._keeper.note_attached(self)
        self.write_due()
        self._keeper.note_room(self)

    def prime(self) -> None:
        """Give the client an id to come back with, before there is a message."""
        self._keeper.record(self, b"", "priming")

    def add(self, payload: bytes, kind: EventKind) -> None:
        """Add a message, which is one line of JSON. A reply is the last one."""
        if self.answered:
            return
        if kind == "reply":
            self.answered = True
        self._keeper.record(self, payload, kind)
        if kind == "reply":
            self._keeper.note_answered(self)

    def finish(self) -> None:
        """End the stream of a request that gets no reply, such as a cancelled one."""
        if not self.answered:
            self.answered = True
            self._keeper.note_answered(self)
            self.write_due()

    def close_connection(self) -> None:
        """End the response that is attached. The stream goes on, and its client can resume it."""
        if self.attached and self.events and not self.resumable:
            self._is_closing = True  # the id to resume with is not stored yet
        else:
            self.detach()

    def dismiss(self, retry: int) -> None:
        """The same, and the client is told to come back after so many milliseconds."""
        if self._responder is not None and self.attached:
            self._responder.send(b"retry: %d\n\n" % retry)
        self.close_connection()

    def detach(self) -> None:
        if self._responder is not None:
            self._end_response()
            self._keeper.note_detached(self)

    def write_due(self) -> None:
        """Write events as long as the client takes them; end the response after the last."""
        while self.has_room and (due := self._due()):
            self._write(due)
        if (self._is_closing and self.resumable) or (self.answered and not self.unwritten()):
            self.detach()

    def write_now(self, events: list[Event]) -> None:
        """Put events on this stream that waited for a GET, and write them."""
        self.events += events
        for event in events:
            event.stream = self
        if self.attached:
            self._write(events)

    def greet(self, number: int) -> None:
        """Give the client an id that stands for all events up to this one, which is no event of its own."""
        if self._responder is not None and self.attached:
            self.position = number
            self._responder.send(_priming(self.number, number, self._keeper.retry))

    def _end_response(self) -> None:
        responder, self._responder = self._responder, None
        self._is_closing = False
        if responder is not None and not responder.gone:
            responder.end()

    def unwritten(self) -> list[Event]:
        """The events that its client was not written yet."""
        return self.events[bisect_right(self.events, self.position, key=_BY_NUMBER) :]

    def _due(self) -> list[Event]:
        """The next events that may be written, as many as fill the room."""
        due: list[Event] = []
        size = 0
        for event in self.unwritten():
            if event.number > self._keeper.stored or size >= ROOM:
                break
            due.append(event)
            size += len(event.payload)
        return due

    def _write(self, events: list[Event]) -> None:
        assert self._responder is not None
        responder = self._responder
        self.position = events[-1].number
        # An id that was sent is not repeated: a client that resumes has one.
        retry = self._keeper.retry
        text = b"".join(e.text(self.number, retry) for e in events if e.is_message or not e.sent)
        self._keeper.note_written(events)
        if text:
            responder.send(text)

    def _left(self, responder: Responder) -> None:
        if responder is self._responder:
            self.detach()

    def _freed(self, responder: Responder) -> None:
        if responder is self._responder:
            self.write_due()
            self._keeper.note_room(self)
