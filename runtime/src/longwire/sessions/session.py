"""One session: who began it, what was agreed with the client, its calls in flight and its event log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from mcp_types import INTERNAL_ERROR

from longwire.counters import RuntimeCounters
from longwire.journal.journal import Journal, SessionRecord, StoredSession
from longwire.sessions.client_requests import ClientRequests
from longwire.sessions.event_log import EventLog
from longwire.sessions.streams import Stream
from longwire.settings import WireLimits

# Why a session ended. One that stopped with the server goes on in the next if the journal is durable; one
# that moved goes on at another node.
EndReason: TypeAlias = Literal["deleted", "expired", "evicted", "revoked", "stopped", "kicked", "moved"]

# The reply to a call that was in flight when an earlier process ended.
LOST_CALL: Final = "the server restarted before this call ended: call again"


class OpenCall(Protocol):
    """A request of the client that is not answered yet."""

    def cancel(self, reason: str) -> None:
        """Stop it without an answer, because its session ended."""

    @property
    def is_attended(self) -> bool:
        """Whether a client is connected that waits for its answer."""


class Home(Protocol):
    """What holds all sessions, as one of them sees it."""

    limits: WireLimits
    journal: Journal
    counters: RuntimeCounters
    clock: Callable[[], float]
    epoch: float  # the time of day at which the clock was 0
    notified: int  # the last notification of all sessions

    def note_use(self, session: Session) -> None: ...
    def note_calm(self) -> None: ...
    def note_end(self, session: Session, reason: EndReason) -> None: ...


class Session:
    """The session of a client that made the handshake. Small while nothing happens: there may be 10,000."""

    def __init__(self, home: Home, session_id: str, principal: str, version: str, client: bytes) -> None:
        self.home = home
        self.id = session_id
        self.principal = principal  # the key of who began it
        self.version = version
        self._client = client  # JSON, a fifth of the size of its objects
        self.created = self.last_seen = self._saved_use = home.clock()
        self.initialized = False
        self.notified = home.notified  # the last notification that it was given, or could not miss
        self.ended: EndReason | None = None
        self.stored = False  # its events are in the journal of an earlier process, and not loaded yet
        self._log: EventLog | None = None
        self._calls: dict[str | int, OpenCall] | None = None
        self._state: dict[str, Any] | None = None
        self._saves = 0  # writes to the journal that are not done yet
        self.connection: Any = None  # the SDK's, made when it is first needed
        self._client_requests: ClientRequests | None = None

    @property
    def client(self) -> dict[str, Any]:
        """The params of its initialize request."""
        found: dict[str, Any] = json.loads(self._client)
        return found

    @property
    def log(self) -> EventLog:
        """Its events and streams, made when first needed."""
        if self._log is None:
            home = self.home
            self._log = EventLog(self.id, home.journal, home.limits, home.counters)
            if self.ended is not None:
                self._log.close()
        return self._log

    @property
    def client_requests(self) -> ClientRequests:
        """The requests that the server sends to the client, made when first needed."""
        if self._client_requests is None:
            home = self.home
            capabilities = self.client.get("capabilities") or {}
            self._client_requests = ClientRequests(home.limits, home.counters, capabilities)
            if self.ended is not None:
                self._client_requests.end()
        return self._client_requests

    @property
    def pending(self) -> int:
        """Messages that the client has not been sent."""
        return self._log.pending if self._log is not None else 0

    @property
    def pending_bytes(self) -> int:
        return self._log.pending_bytes if self._log is not None else 0

    @property
    def open_gets(self) -> int:
        return self._log.open_gets if self._log is not None else 0

    @property
    def at_risk(self) -> bool:
        """Whether it would not outlive a restart as it is, because it can't be stored for now."""
        return self.home.journal.at_risk(self.id)

    def attached_streams(self) -> Iterator[Stream]:
        return iter(()) if self._log is None else self._log.attached_streams()

    # Use.

    def touch(self) -> None:
        self.home.note_use(self)
        journal = self.home.journal
        if journal.durable and self.last_seen - self._saved_use > self.home.limits.idle_timeout / 100:
            self._saved_use = self.last_seen
            journal.touch(self.id, self.last_seen + self.home.epoch)

    @property
    def busy(self) -> bool:
        """Whether a client waits for a call. Neither a GET nor a call that was left keeps a session alive."""
        return self._calls is not None and any(call.is_attended for call in self._calls.values())

    @property
    def is_unused(self) -> bool:
        """Whether the client has not used it since the handshake."""
        return not self.initialized and self.last_seen == self.created

    @property
    def calls(self) -> int:
        return len(self._calls) if self._calls else 0

    def begin_call(self, request_id: str | int, call: OpenCall) -> bool:
        """Note a call as in flight; False: one with this id is already."""
        self._calls = self._calls or {}
        return self._calls.setdefault(request_id, call) is call

    def find_call(self, request_id: str | int) -> OpenCall | None:
        """The call in flight with this id; "7" is not the same as 7."""
        return self._calls.get(request_id) if self._calls else None

    def end_call(self, request_id: str | int) -> None:
        """Note that a call is over. The session's idle time begins anew, since its answer counts as use."""
        call = self._calls.pop(request_id, None) if self._calls else None
        if call is None:
            return
        if not self._calls:
            self._calls = None  # a dict that was filled keeps its size
            self.home.note_calm()
        if self._client_requests is not None:
            self._client_requests.end_call(call)
        if self.ended is None:
            self.touch()

    # What was agreed.

    @property
    def state(self) -> Mapping[str, Any]:
        """Values of JSON that the client has set, such as the log level and subscriptions."""
        return self._state or {}

    def set_state(self, name: str, value: Any) -> None:
        """Set a value that outlives a restart; None removes it."""
        state = {**self.state, name: value}
        if value is None:
            del state[name]
        self.replace_state(state)

    def replace_state(self, state: Mapping[str, Any]) -> None:
        if state != self.state:
            self._state = dict(state) or None
            self.save()

    def mark_initialized(self) -> None:
        if not self.initialized:
            self.initialized = True
            self.save()

    def save(self) -> None:
        journal = self.home.journal
        if journal.durable and self.ended is None:
            self._saves += 1
            journal.save(self.record())
            journal.when_stored(self._saved)

    def when_saved(self, callback: Callable[[], None]) -> None:
        """Call back when the journal has what is known of the session; at once if it has."""
        if self._saves:
            self.home.journal.when_stored(callback)
        else:
            callback()

    def _saved(self) -> None:
        self._saves -= 1

    def record(self) -> SessionRecord:
        epoch = self.home.epoch
        return SessionRecord(
            id=self.id,
            principal=self.principal,
            version=self.version,
            client=self._client.decode(),
            created=self.created + epoch,
            last_seen=self.last_seen + epoch,
            initialized=self.initialized,
            state=compact(self.state).decode(),
            notified=self.notified,
        )

    @classmethod
    def from_record(cls, home: Home, record: SessionRecord) -> Session:
        """A session of an earlier process; its events are loaded when it is first used."""
        session = cls(home, record.id, record.principal, record.version, record.client.encode())
        session.created = record.created - home.epoch
        session.last_seen = session._saved_use = record.last_seen - home.epoch
        session.initialized = record.initialized
        session._state = json.loads(record.state) or None
        session.notified = record.notified
        session.stored = True
        return session

    def load_events(self) -> bool:
        """Continue the streams of an earlier process; calls that died with it are answered with an error.

        False: they can't be read, and without them the session can't go on.
        """
        found = self.home.journal.load(self.id)
        self.stored = False
        if found is not None:
            self.revive(found)
        return found is not None

    def revive(self, found: StoredSession) -> None:
        self.stored = False
        self.home.counters.sessions_resumed += 1
        for stream in self.log.revive(found):
            self.home.counters.calls_lost += 1
            error = {"code": INTERNAL_ERROR, "message": LOST_CALL}
            stream.add(compact({"jsonrpc": "2.0", "id": stream.request_id, "error": error}), "reply")

    def snapshot(self) -> StoredSession:
        """The session with all that is needed to continue it elsewhere."""
        return self.log.snapshot(self.record())

    def notify(self, payloads: Iterable[bytes]) -> None:
        if not self.stored or self.load_events():
            for payload in payloads:
                self.log.notify(payload)

    def notify_once(self, number: int, payloads: Iterable[bytes]) -> None:
        """Send the notifications of that number, unless it had them, at another node perhaps."""
        if self.notified < number:
            self.notify(payloads)
            self.note_notified(number)

    def note_notified(self, number: int) -> None:
        if self.ended is None and self.notified < number:
            self.notified = number
            self.save()  # after the events: nothing is lost between the two

    # The end.

    def end(self, reason: EndReason) -> None:
        """End the session: its calls are cancelled and its connections closed."""
        if self.ended is not None:
            return
        self.ended = reason
        self.home.note_end(self, reason)
        for call in list((self._calls or {}).values()):
            call.cancel(f"the session was {reason}")
        if self._client_requests is not None:
            self._client_requests.end()
        if self._log is not None:
            self._log.close()


def compact(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
