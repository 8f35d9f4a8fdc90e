"""The journal of sessions and their events, from which a restarted server continues.

A session keeps its events in memory (event_log.py); a journal keeps a copy that outlives the process. An
event is written to the journal before it is sent, so no client knows of an event that the journal doesn't.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

EventKind: TypeAlias = Literal["priming", "notification", "request", "reply"]


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as the journal keeps it."""

    id: str
    principal: str  # the key of the principal that began it
    version: str  # the negotiated protocol version
    client: str  # the params of its initialize request, as JSON
    created: float  # seconds since 1970
    last_seen: float
    initialized: bool = False
    state: str = "{}"  # JSON, such as the log level and subscriptions
    notified: int = 0  # where nodes share sessions: the number of the last notification that it was given


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event of a session. Numbers rise by one in each session and are never used again."""

    number: int
    stream: int  # 0: not yet on a stream
    kind: EventKind
    payload: bytes  # one line of JSON; empty for a priming event


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream of a session: the answer of one request, or a GET."""

    number: int
    request_id: str | int | None  # None: a GET
    answered: bool = False  # its reply is among the events, or none will come


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with all that is needed to continue it."""

    record: SessionRecord
    streams: tuple[StreamRecord, ...]
    events: tuple[EventRecord, ...]
    next_event: int
    next_stream: int


class InMemory(Protocol):
    """A session in the memory of its server."""

    @property
    def pending(self) -> int:
        """Messages that its client has not been sent."""

    def snapshot(self) -> StoredSession: ...


# Finds a session in memory by its id; None: it has ended.
Finder: TypeAlias = Callable[[str], InMemory | None]


class Journal:
    """A journal of sessions and events. Calls return at once, and their order is kept.

    This one keeps nothing: sessions end with the process.
    """

    durable: bool = False  # whether anything outlives the process

    def save(self, record: SessionRecord) -> None: ...
    def touch(self, session_id: str, last_seen: float) -> None: ...
    def forget(self, session_id: str) -> None: ...
    def save_stream(self, session_id: str, stream: StreamRecord) -> None: ...

    def append(self, session_id: str, event: EventRecord) -> None:
        """Add an event, or put it on another stream if its number is there already."""

    def drop(self, session_id: str, numbers: Iterable[int]) -> None: ...

    def when_stored(self, callback: Callable[[], None]) -> None:
        """Call back on the event loop when all that came before is stored; at once if it is already."""
        callback()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be stored that those who add more should wait."""
        return False

    def at_risk(self, session_id: str) -> bool:
        """Whether a session can't be stored for now, and would not outlive the process as it is."""
        return False

    def follow(self, find: Finder) -> None:
        """Have sessions that could not be stored found in memory, to be stored again."""

    async def flush(self, patience: float) -> bool:
        """Wait until all sessions are stored; False: for so many seconds nothing more was."""
        return True

    def stored_sessions(self) -> Iterable[SessionRecord]:
        """The sessions of an earlier process, without their events."""
        return ()

    def load(self, session_id: str) -> StoredSession | None:
        """A session of an earlier process."""
        return None

    def close(self) -> None: ...
