"""The table of sessions: beginning, finding, expiring and making room, without a timer for each.

Sessions are held in the order of their last use, all together and for each principal. So the ones to expire
are the first, and so is the one that makes room for another.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, Final, TypeAlias

from longwire.contract.envelopes import NotifyOutcome
from longwire.counters import RuntimeCounters
from longwire.journal.journal import Journal, StoredSession
from longwire.principals.limits import BUSY
from longwire.sessions.sending import call_within, tell
from longwire.sessions.session import EndReason, Session, compact
from longwire.settings import WireLimits
from longwire.wire.messages import RefusedMessage

SLICE: Final = 100  # sessions that one sweep looks at: about a millisecond, more if they have streams
LOOK_AGAIN: Final = 0.1  # seconds after which sessions that were all busy are looked at again
_Answer: TypeAlias = Callable[[NotifyOutcome], None]
_BUSY_SECONDS: Final = 5.0  # until a client should try again, where all sessions have calls


class SessionsFull(RefusedMessage):
    """There is no room for a session, and none that may end for it."""

    def __init__(self, reason: str, status: int, seconds: float) -> None:
        """`status` is 429 where the limit is the principal's own."""
        super().__init__(BUSY, reason, status=status)
        self.seconds = seconds  # until a client should try again


class Sessions:
    def __init__(
        self,
        limits: WireLimits,
        journal: Journal,
        counters: RuntimeCounters,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        label: str = "",
    ) -> None:
        """`wall` is the time of day; `label` begins the ids of sessions, so that proxies know their node."""
        self.limits = limits
        self.journal = journal
        self.counters = counters
        self.clock = clock
        self.epoch = wall() - clock()
        self.notified = 0  # see cluster/shared_notifications.py
        self._prefix = f"{label}-" if label else ""
        self.on_end: Callable[[Session], None] = lambda _: None  # called with each session that ends
        self._by_id: dict[str, Session] = {}  # the longest unused first
        self._of: dict[str, dict[str, Session]] = {}  # by principal, in the same order
        # By principal (None: of all): until when no session can make room, and when one is expected to.
        self._all_busy: dict[str | None, tuple[float, float]] = {}
        for record in sorted(journal.stored_sessions(), key=lambda record: record.last_seen):
            self._enter(Session.from_record(self, record))
        journal.follow(self.get)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Session]:
        """All sessions, the longest unused first."""
        return iter(list(self._by_id.values()))

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._by_id

    def get(self, session_id: str) -> Session | None:
        """A session of any principal. Its use is not noted."""
        return self._by_id.get(session_id)

    def count_of(self, principal_key: str) -> int:
        return len(self._of.get(principal_key, ()))

    def open_gets_of(self, principal_key: str) -> int:
        return sum(session.open_gets for session in self._of.get(principal_key, {}).values())

    def admit(self, principal_key: str) -> SessionsFull | None:
        """Say whether a session could begin now; None: it could. Nothing is ended yet."""
        if not self._must_leave(principal_key) or self._leaver(principal_key) is not None:
            return None
        return self._refusal(principal_key)

    def begin(self, principal_key: str, version: str, client: Mapping[str, Any]) -> Session:
        """Begin a session; if need be an idle one makes room. Raises SessionsFull, as `admit` would say."""
        self._make_room(principal_key)
        session_id = f"{self._prefix}{secrets.token_hex(16)}"
        session = Session(self, session_id, principal_key, version, compact(client))
        self._enter(session)
        self.counters.sessions_created += 1
        session.save()
        return session

    def adopt(self, stored: StoredSession, unused: float) -> Session:
        """Continue a session that another node had, and that was unused for so many seconds.

        If need be an idle one makes room. Raises RefusedMessage.
        """
        self._make_room(stored.record.principal)
        session = Session.from_record(self, stored.record)
        session.last_seen = self.clock() - unused
        session.created = min(session.created, session.last_seen)  # Redis's clock may have been set
        self._enter(session)
        session.revive(stored)
        return session

    def find(self, session_id: str, principal_key: str) -> Session | None:
        """Find the session that a request names, and note its use; None: unknown, expired or another's."""
        session = self._by_id.get(session_id)
        if session is None or session.principal != principal_key:
            return None
        if self._is_expired(session):
            session.end("expired")
            return None
        if session.stored and not session.load_events():
            session.end("evicted")
            return None
        session.touch()
        return session

    def with_id(self, session_id: str) -> list[Session]:
        """The session that the server itself names, if it has not ended; its use is not noted."""
        session = self._by_id.get(session_id)
        return [] if session is None else [session]

    async def notify(self, session_id: str | None, payloads: list[bytes]) -> NotifyOutcome:
        """Send notifications outside of calls to one session, or (None) to all of them."""
        found = list(self) if session_id is None else self.with_id(session_id)
        await tell(found, payloads, self.limits.send_timeout)
        if session_id is None:
            return "delivered"
        return next(("delivered" if session.open_gets else "queued" for session in found), "unknown")

    async def notify_and_answer(self, session_id: str | None, payloads: list[bytes], answer: _Answer) -> None:
        self.answer_stored(session_id, await self.notify(session_id, payloads), answer)

    def answer_stored(self, session_id: str | None, outcome: NotifyOutcome, answer: _Answer) -> None:
        """Answer once the notifications are stored (many are at once), or `send_timeout` is over."""

        def stored() -> None:
            lost = outcome != "unknown" and session_id is not None and session_id not in self
            answer("failed" if lost else outcome)  # lost with its session, which has ended or moved meanwhile

        call_within(self.limits.send_timeout, self.journal.when_stored, stored)

    def delete(self, session_id: str, principal_key: str) -> bool:
        """End a session as its client asks; whether there was one."""
        session = self._by_id.get(session_id)
        if session is None or session.principal != principal_key:
            return False
        is_late = self._is_expired(session)
        session.end("expired" if is_late else "deleted")
        return not is_late

    def sweep(self) -> float:
        """End some of the expired sessions; returns the clock's time at which to sweep again."""
        now = self.clock()
        longest_unused = list(islice(self._by_id.values(), SLICE))
        for session in takewhile(lambda session: self._deadline(session) <= now, longest_unused):
            if session.busy:
                session.touch()  # looked at again when it would expire next
            else:
                session.end("expired")
        oldest = next(iter(self._by_id.values()), None)
        return now + self.limits.idle_timeout if oldest is None else self._deadline(oldest)

    def end_principal(self, principal_key: str) -> None:
        """End the sessions of a principal without a valid token."""
        for session in list(self._of.get(principal_key, {}).values()):
            session.end("revoked")

    def starting_with(self, beginning: str) -> list[Session]:
        """The sessions whose ids begin so, for operators, who are only shown these beginnings."""
        return [session for session_id, session in self._by_id.items() if session_id.startswith(beginning)]

    def close(self) -> None:
        """Stop with the server. A durable journal keeps the sessions for the next one."""
        for session in self:
            session.end("stopped")

    # What sessions call.

    def note_use(self, session: Session) -> None:
        session.last_seen = self.clock()
        if session.ended is None:
            for table in (self._by_id, self._of[session.principal]):
                del table[session.id]
                table[session.id] = session

    def note_calm(self) -> None:
        self._all_busy.clear()

    def note_end(self, session: Session, reason: EndReason) -> None:
        self._all_busy.clear()
        del self._by_id[session.id]
        mine = self._of[session.principal]
        del mine[session.id]
        if not mine:
            del self._of[session.principal]
        self.on_end(session)
        if reason == "stopped":
            return
        if reason != "moved":  # one that moved is another node's to forget
            self.journal.forget(session.id)
        counter = f"sessions_{reason}"
        setattr(self.counters, counter, getattr(self.counters, counter) + 1)

    # Room.

    def _make_room(self, principal_key: str) -> None:
        """End idle sessions as long as there is no room for one of this principal; raises SessionsFull."""
        while self._must_leave(principal_key):
            leaver = self._leaver(principal_key)
            if leaver is None:
                raise self._refusal(principal_key)
            leaver.end("evicted")

    def _refusal(self, principal_key: str) -> SessionsFull:
        self.counters.refused["sessions"] += 1
        whose, limits = self._whose(principal_key), self.limits
        most, what, status = limits.max_sessions, "sessions", 503
        if whose is not None:
            most, what, status = limits.max_sessions_each, "sessions of this address or token", 429
        seconds = max(1.0, self._all_busy[whose][1] - self.clock())
        reason = (
            f"{most} {what} are open, which is the most, and all have calls or were used in the last "
            f"{limits.safe_idle:g} s: end one, or try again in {math.ceil(seconds)} s"
        )
        return SessionsFull(reason, status, seconds)

    def _enter(self, session: Session) -> None:
        self._all_busy.clear()
        self._by_id[session.id] = session
        self._of.setdefault(session.principal, {})[session.id] = session

    def _must_leave(self, principal_key: str) -> bool:
        """Whether a session has to end before one of this principal begins."""
        return (
            len(self._by_id) >= self.limits.max_sessions
            or self.count_of(principal_key) >= self.limits.max_sessions_each
        )

    def _leaver(self, principal_key: str) -> Session | None:
        """The session that makes room: the longest idle one of the principal that has the most.

        A principal that has its share gives one of its own. So a principal with few sessions loses none to
        one that opens many. A session used or begun a moment ago stays, or newcomers would end each other.
        """
        whose, now = self._whose(principal_key), self.clock()
        if whose in self._all_busy and now < self._all_busy[whose][0]:
            return None
        tables = [self._of[whose]] if whose is not None else sorted(self._of.values(), key=len, reverse=True)
        safe, expected = self.limits.safe_idle, math.inf
        for table in tables:
            leaver, longest = _longest_idle(table, now - safe)
            if leaver is not None:
                return leaver
            if longest is not None:
                expected = min(expected, longest.last_seen + safe)
        expected = now + _BUSY_SECONDS if expected == math.inf else expected
        # A call or session that ends is noted; a client that leaves its call is seen at the next look.
        self._all_busy[whose] = min(expected, now + LOOK_AGAIN), expected
        return None

    def _whose(self, principal_key: str) -> str | None:
        """The principal whose session has to make room for another of its own; None: anybody's may."""
        return principal_key if self.count_of(principal_key) >= self.limits.max_sessions_each else None

    def _is_expired(self, session: Session) -> bool:
        return not session.busy and self._deadline(session) <= self.clock()

    def _deadline(self, session: Session) -> float:
        return session.last_seen + self.limits.idle_timeout


def _longest_idle(sessions: Mapping[str, Session], before: float) -> tuple[Session | None, Session | None]:
    """The session to end first, of those used last before that time; and the longest idle one of all.

    A session that was never used goes first, so that a client that only begins sessions ends no used ones.
    """
    longest = None
    for session in sessions.values():
        if longest is not None and (session.last_seen > before or longest.last_seen > before):
            break
        if (longest is None or session.is_unused) and not session.busy:
            if session.is_unused and session.last_seen <= before:
                return session, session
            longest = longest or session
    return (longest if longest is not None and longest.last_seen <= before else None), longest
