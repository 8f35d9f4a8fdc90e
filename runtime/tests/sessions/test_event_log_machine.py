"""Connections that open, stall, drop and resume, and restarts, in any mix: nothing is lost or doubled."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fake_journal import FakeJournal
from fake_responder import FakeClock, FakeResponder
from longwire.counters import RuntimeCounters
from longwire.journal.journal import EventKind, Journal
from longwire.sessions.event_log import EventLog
from longwire.sessions.registry import Sessions
from longwire.sessions.streams import ROOM, Stream
from longwire.settings import WireLimits


@dataclass
class Seen:
    """A stream as the client knows it."""

    is_get: bool
    stream: Stream | None  # the server's; None after a restart
    responders: list[FakeResponder] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [event.id for responder in self.responders for event in responder.events]

    @property
    def messages(self) -> list[str]:
        """What the client has read, over all connections."""
        return [message for responder in self.responders for message in responder.messages]

    @property
    def written(self) -> set[str]:
        """What was written, read or not."""
        return {message for responder in self.responders for message in responder.written}

    @property
    def connection(self) -> FakeResponder | None:
        return next((r for r in self.responders if not r.gone), None)


class Machine(RuleBasedStateMachine):
    """One session, its client, and what each of the two knows."""

    limits = WireLimits(max_pending=10_000, max_pending_bytes=1 << 40)

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []  # messages, in the order in which they were made
        self.kinds: dict[str, EventKind] = {}
        self.lost: set[str] = set()  # by a crash: not stored, or on the way to a client without an id
        self.unsure: set[str] = set()  # on a stream at a restart: a full log drops them as if they were sent
        self.streams: list[Seen] = []
        self.counters = RuntimeCounters()
        self.clock = FakeClock()

    @initialize(journal=st.sampled_from(["none", "at once", "later"]))
    def begin(self, journal: str) -> None:
        self.journal = None if journal == "none" else FakeJournal(at_once=journal == "at once")
        self.sessions = self._sessions()
        self.id = self.sessions.begin("token:a", "2025-11-25", {}).id
        self._store()

    def _sessions(self) -> Sessions:
        return Sessions(self.limits, self.journal or Journal(), self.counters, self.clock, self.clock)

    def _store(self) -> None:
        if self.journal is not None:
            self.journal.store()

    @property
    def log(self) -> EventLog:
        session = self.sessions.find(self.id, "token:a")
        return session.log

    @property
    def written(self) -> set[str]:
        return set().union(*(seen.written for seen in self.streams))

    def _message(self, kind: EventKind, size: int = 0) -> bytes:
        text = json.dumps(f"{len(self.made)} {kind} {'x' * size}")
        self.made.append(text)
        self.kinds[text] = kind
        return text.encode()

    def _may_add(self, kind: EventKind) -> bool:
        return True

    def _may_call(self) -> bool:
        return True

    # The server adds messages.

    @rule(kind=st.sampled_from(["notification", "request"]), size=st.sampled_from([0, 0, 40]))
    def notify(self, kind: EventKind, size: int) -> None:
        if self._may_add(kind):
            self.log.notify(self._message(kind, size), kind)

    @rule(
        data=st.data(),
        kind=st.sampled_from(["notification", "request", "reply"]),
        size=st.sampled_from([0, 0, 40]),
    )
    def add(self, data: st.DataObject, kind: EventKind, size: int) -> None:
        running = [seen for seen in self.streams if seen.stream is not None and not seen.stream.answered]
        calls = [seen for seen in running if not seen.is_get]
        if calls and self._may_add(kind):
            stream = data.draw(st.sampled_from(calls)).stream
            stream.add(self._message(kind, size), kind)

    # The client connects, reads, goes and comes back.

    @rule(primed=st.booleans(), reading=st.booleans())
    def open_get(self, primed: bool, reading: bool) -> None:
        self._connect(Seen(True, self.log.open_get_stream()), primed, reading)

    @rule(early=st.booleans(), reading=st.booleans())
    def call(self, early: bool, reading: bool) -> None:
        if not self._may_call():
            return
        seen = Seen(False, self.log.open_request_stream(len(self.streams)))
        seen.stream.prime()
        if early:
            seen.stream.add(self._message("notification"), "notification")
        self._connect(seen, False, reading)
        self._store()  # so that the client has an id
        if seen.connection is not None:
            connection = seen.connection
            connection.taken = len(connection.text)

    def _connect(self, seen: Seen, primed: bool, reading: bool) -> None:
        if primed:
            seen.stream.prime()
        responder = FakeResponder(reading=reading, weight=ROOM)
        seen.responders.append(responder)
        self.streams.append(seen)
        seen.stream.attach(responder)

    @rule(data=st.data(), does=st.sampled_from(["stall", "read", "drop", "drop"]))
    def use_connection(self, data: st.DataObject, does: str) -> None:
        open_ones = [seen.connection for seen in self.streams if seen.connection is not None]
        if open_ones:
            getattr(data.draw(st.sampled_from(open_ones)), does)()

    @rule(data=st.data(), reading=st.booleans())
    def resume(self, data: st.DataObject, reading: bool) -> None:
        known = [seen for seen in self.streams if seen.ids]
        if known:
            self._resume(data.draw(st.sampled_from(known)), reading)

    def _resume(self, seen: Seen, reading: bool = True) -> None:
        stream = self.log.resume(seen.ids[-1])
        if stream is None:
            self._check_forgotten(seen)
            return
        if seen.connection is not None:
            seen.connection.stall()  # what it has not read is read again, on the new connection
        responder = FakeResponder(reading=reading, weight=ROOM)
        stream.attach(responder)
        seen.responders.append(responder)

    def _check_forgotten(self, seen: Seen) -> None:
        raise AssertionError(f"{seen.ids[-1]} is not known any more")

    # The journal, and restarts.

    @precondition(lambda self: self.journal is not None)
    @rule(most=st.integers(1, 9))
    def store(self, most: int) -> None:
        self.journal.store(most)

    @precondition(lambda self: self.journal is not None)
    @rule(crash=st.booleans())
    def restart(self, crash: bool) -> None:
        if not crash:
            self.journal.store()
        nameless = set()
        for seen in self.streams:
            if seen.stream is not None and seen.is_get and not seen.ids:
                nameless.add(seen.stream.number)  # was a message on it written? nobody knows
            if seen.connection is not None:
                seen.connection.drop()
            seen.stream = None
        events = self.journal.disk[self.id].events.values()
        kept = {event.payload.decode() for event in events if event.stream not in nameless}
        self.unsure |= {event.payload.decode() for event in events if event.stream}
        self.lost |= set(self.made) - kept - self.written
        self.journal = self.journal.crash()
        self.sessions = self._sessions()

    # What always holds.

    @invariant()
    def nothing_is_doubled(self) -> None:
        counts = Counter(message for seen in self.streams for message in seen.messages)
        assert [message for message, count in counts.items() if count > 1] == []

    @invariant()
    def the_order_is_kept_in_each_stream(self) -> None:
        for seen in self.streams:
            numbers = [int(name.split("-")[1]) for name in seen.ids]
            assert numbers == sorted(set(numbers))
            places = [self.made.index(message) for message in seen.messages if message in self.kinds]
            assert places == sorted(places)

    @invariant()
    def only_a_reply_is_the_last(self) -> None:
        for seen in self.streams:
            kinds = [self.kinds.get(message, "reply") for message in seen.messages]
            assert "reply" not in kinds[:-1]

    @invariant()
    def the_counts_are_right(self) -> None:
        if self.streams:
            log = self.log
            assert 0 <= log.pending <= log.kept
            assert 0 <= log.pending_bytes <= log.kept_bytes

    def teardown(self) -> None:
        """The client reads and resumes everything, and opens one more GET for what waits."""
        if not hasattr(self, "sessions"):
            return
        self._store()
        for seen in self.streams:
            if seen.connection is not None:
                seen.connection.read()
        self._store()
        for seen in self.streams:
            if seen.ids:
                self._resume(seen)
                self._store()
        last = Seen(True, self.log.open_get_stream())
        self._connect(last, False, True)
        self._store()
        self.nothing_is_doubled()
        self.the_order_is_kept_in_each_stream()
        self.check_what_came()
        self.sessions.close()

    def check_what_came(self) -> None:
        assert self._missing() == set()
        assert self.counters.messages_dropped == 0
        assert self.log.pending == 0

    def _missing(self) -> set[str]:
        """Messages that should have come and did not."""
        came = {message for seen in self.streams for message in seen.messages}
        # What was written on a GET whose client has no id of it can't be asked for again.
        beyond = set().union(*(seen.written for seen in self.streams if not seen.ids))
        return set(self.made) - came - self.lost - beyond


class SmallMachine(Machine):
    """The same with a small log: what goes is counted, and replies and requests that wait are not lost."""

    limits = WireLimits(max_pending=8, max_pending_bytes=800)

    def _may_add(self, kind: EventKind) -> bool:
        return kind != "request" or self._may_call()

    def _may_call(self) -> bool:
        """Whether requests that wait and replies that are to come, after a restart too, leave room."""
        waiting = set(self.made) - self.written - self.lost
        requests = sum(self.kinds[text] == "request" for text in waiting)
        calls = [seen for seen in self.streams if not seen.is_get]
        open_calls = sum(
            all(self.kinds.get(text, "reply") != "reply" for text in seen.messages) for seen in calls
        )
        return requests + open_calls < 6

    def _check_forgotten(self, seen: Seen) -> None:
        pass

    @invariant()
    def the_bounds_hold(self) -> None:
        if self.streams:
            # The first id of a connection is kept until the journal has it.
            begun = sum(seen.connection is not None and not seen.connection.text for seen in self.streams)
            assert self.log.kept <= self.limits.max_pending + begun
            assert self.log.kept_bytes <= self.limits.max_pending_bytes

    def check_what_came(self) -> None:
        never = self._missing() - self.written - self.unsure
        assert [text for text in never if self.kinds[text] != "notification"] == []
        assert len(never) <= self.counters.messages_dropped


TestEverythingComes = Machine.TestCase
TestEverythingComes.settings = settings(stateful_step_count=40)
TestABoundedLog = SmallMachine.TestCase
TestABoundedLog.settings = settings(stateful_step_count=40)
