"""The events that a session was sent, kept so that a client can resume after a lost connection.

One log for each session: the SDK names streams by request id alone, so a log shared by sessions would
replay one client's results to another that happens to count the same way.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Final

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

MAX_EVENTS: Final = 256
MAX_BYTES: Final = 4 << 20

_EVENT_ID: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")


@dataclass(slots=True)
class _Stream:
    """The events of one request, or of those that belong to none."""

    name: StreamId
    number: int
    kept: int = 0
    finished: bool = False  # the answer was stored: nothing follows it
    ended: bool = False  # its request is over, whether or not an answer is stored


@dataclass(frozen=True, slots=True)
class _Event:
    number: int
    stream: _Stream
    message: JSONRPCMessage | None  # None: an id for the client to come back with, and nothing to repeat
    size: int


class EventLog(EventStore):
    """The newest events of one session, bounded in number and bytes; the newest one is always kept."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[_Event] = deque()
        self._bytes = 0
        self._next_event = 1
        self._next_stream = 1
        self._by_name: dict[StreamId, _Stream] = {}
        self._by_number: dict[int, _Stream] = {}

    def __len__(self) -> int:
        return len(self._events)

    def __bool__(self) -> bool:
        return True  # the SDK asks whether there is a log by its truth, and an empty one is one

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        stream = self._stream(stream_id, begins=message is None)
        size = 0 if message is None else len(message.model_dump_json(exclude_unset=True))
        event = _Event(self._next_event, stream, message, size)
        self._next_event += 1
        self._events.append(event)
        self._bytes += size
        stream.kept += 1
        stream.finished = isinstance(message, JSONRPCResponse | JSONRPCError)
        self._shrink()
        return f"{stream.number}.{event.number}"

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """Send the later events of the same stream; returns its name if more may follow.

        An event that was dropped meanwhile still says by its id which stream it was of, so a client that
        was away for long misses progress but not its result.
        """
        found = _numbers(last_event_id)
        if found is None or (stream := self._by_number.get(found[0])) is None:
            return None
        last = found[1]
        # Looked up again after each: more may be stored while one is sent.
        while (event := self._following(stream, last)) is not None:
            last = event.number
            if event.message is not None:
                await send_callback(EventMessage(event.message, f"{stream.number}.{last}"))
        # The SDK would hold the connection open for a stream that has a name.
        goes_on = not stream.finished and self._by_name.get(stream.name) is stream
        return stream.name if goes_on else None

    def forget(self, stream_id: StreamId) -> None:
        """Drop a stream that no client can resume."""
        stream = self._by_name.pop(stream_id, None)
        if stream is None:
            return
        del self._by_number[stream.number]
        self._bytes -= sum(event.size for event in self._events if event.stream is stream)
        self._events = deque(event for event in self._events if event.stream is not stream)

    def end(self, stream_id: StreamId) -> None:
        """Note that a request is over: its stream is forgotten with its last event, answered or not."""
        stream = self._by_name.get(stream_id)
        if stream is not None:
            stream.ended = True
            self._drop_if_empty(stream)

    def _stream(self, name: StreamId, *, begins: bool) -> _Stream:
        stream = self._by_name.get(name)
        # An id that is used again is another request.
        if stream is None or stream.finished or (stream.ended and begins):
            stream = _Stream(name, self._next_stream)
            self._next_stream += 1
            self._by_name[name] = self._by_number[stream.number] = stream
        return stream

    def _following(self, stream: _Stream, number: int) -> _Event | None:
        return next((e for e in self._events if e.stream is stream and e.number > number), None)

    def _shrink(self) -> None:
        while len(self._events) > 1 and (
            len(self._events) > self._max_events or self._bytes > self._max_bytes
        ):
            oldest = self._events.popleft()
            self._bytes -= oldest.size
            oldest.stream.kept -= 1
            self._drop_if_empty(oldest.stream)

    def _drop_if_empty(self, stream: _Stream) -> None:
        """Forget a stream without events, unless more may follow: see the replay."""
        if (stream.finished or stream.ended) and not stream.kept:
            self._by_number.pop(stream.number, None)
            if self._by_name.get(stream.name) is stream:
                del self._by_name[stream.name]


def _numbers(event_id: str) -> tuple[int, int] | None:
    found = _EVENT_ID.fullmatch(event_id)
    return (int(found[1]), int(found[2])) if found is not None else None
