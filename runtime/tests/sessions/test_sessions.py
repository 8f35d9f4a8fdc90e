"""Sessions: whose they are, how long they live, which one makes room, and what they leave behind."""

from __future__ import annotations

import gc
import re
import tracemalloc
from typing import Any

import pytest

from fake_responder import FakeClock, FakeResponder
from longwire.counters import RuntimeCounters
from longwire.journal.journal import Journal
from longwire.principals.limits import BUSY
from longwire.sessions.registry import LOOK_AGAIN, SLICE, Sessions
from longwire.sessions.session import Session
from longwire.settings import WireLimits
from longwire.wire.messages import RefusedMessage

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": {"name": "c"}}
TTL = 100.0


class FakeCall:
    """A call in flight, which counts how often all of them were looked at."""

    looks = 0

    def __init__(self) -> None:
        self.reason = ""
        self.attended = True

    @property
    def is_attended(self) -> bool:
        FakeCall.looks += 1
        return self.attended

    def cancel(self, reason: str) -> None:
        self.reason = reason


def made(**limits: Any) -> Sessions:
    """A table of sessions whose clock a test moves."""
    given, clock = WireLimits(idle_timeout=TTL, **{"safe_idle": 0.0, **limits}), FakeClock()
    return Sessions(given, Journal(), RuntimeCounters(), clock, lambda: clock() + 1e9)


def _begin(sessions: Sessions, principal: str = "token:a") -> Session:
    return sessions.begin(principal, "2025-11-25", CLIENT)


def test_a_session_knows_what_was_agreed() -> None:
    sessions = made()
    session = _begin(sessions)
    assert re.fullmatch("[0-9a-f]{32}", session.id)
    assert (session.principal, session.version, session.client) == ("token:a", "2025-11-25", CLIENT)
    assert not session.initialized
    session.mark_initialized()
    session.set_state("log_level", "debug")
    assert session.initialized
    assert session.state == {"log_level": "debug"}
    session.set_state("log_level", None)
    assert session.state == {}
    assert session.record().created == session.created + 1e9
    assert len({_begin(sessions).id for _ in range(50)}) == 50


def test_only_its_principal_finds_or_deletes_it() -> None:
    sessions = made()
    session = _begin(sessions)
    assert sessions.find(session.id, "token:b") is None
    assert not sessions.delete(session.id, "token:b")
    assert sessions.find(session.id, "token:a") is session
    assert sessions.delete(session.id, "token:a")
    assert not sessions.delete(session.id, "token:a")
    assert sessions.find(session.id, "token:a") is None
    assert session.ended == "deleted"
    assert (len(sessions), sessions.count_of("token:a"), sessions.counters.sessions_deleted) == (0, 0, 1)


def test_it_expires_after_its_last_request() -> None:
    sessions = made()
    session = _begin(sessions)
    sessions.clock.advance(TTL - 1)
    assert sessions.find(session.id, "token:a") is session
    sessions.clock.advance(TTL - 1)
    assert sessions.sweep() == sessions.clock() + 1
    assert session.ended is None
    sessions.clock.advance(1)
    assert sessions.sweep() == sessions.clock() + TTL
    assert session.ended == "expired"
    assert sessions.counters.sessions_expired == 1


def test_an_expired_one_is_not_found_even_before_the_sweep() -> None:
    sessions = made()
    first, second = _begin(sessions), _begin(sessions)
    sessions.clock.advance(TTL)
    assert sessions.find(first.id, "token:a") is None
    assert not sessions.delete(second.id, "token:a")
    assert sessions.counters.sessions_expired == 2
    assert sessions.counters.sessions_deleted == 0


def test_an_open_get_does_not_keep_it_alive() -> None:
    sessions = made()
    session, responder = _begin(sessions), FakeResponder()
    session.log.open_get_stream().attach(responder)
    sessions.clock.advance(TTL)
    session.log.notify(b"1")
    sessions.sweep()
    assert session.ended == "expired"
    assert responder.ended


def test_a_call_in_flight_does() -> None:
    sessions = made()
    session = _begin(sessions)
    assert session.begin_call(7, FakeCall())
    sessions.clock.advance(2 * TTL)
    sessions.sweep()
    assert sessions.find(session.id, "token:a") is session
    sessions.clock.advance(2 * TTL)
    session.end_call(7)
    assert sessions.find(session.id, "token:a") is session
    sessions.clock.advance(TTL)
    sessions.sweep()
    assert session.ended == "expired"


def test_a_call_that_its_client_left_does_not() -> None:
    """Its client may come back for it within the idle time, and no longer."""
    sessions = made()
    call = FakeCall()
    call.attended = False
    assert _begin(sessions).begin_call(7, call)
    sessions.clock.advance(TTL)
    sessions.sweep()
    assert len(sessions) == 0
    assert call.reason == "the session was expired"


def test_a_busy_session_does_not_keep_others_from_expiring() -> None:
    sessions = made()
    busy = [_begin(sessions) for _ in range(3)]
    for session in busy:
        session.begin_call(1, FakeCall())
    idle = _begin(sessions)
    sessions.clock.advance(TTL)
    sessions.sweep()
    assert idle.ended == "expired"
    assert [session.ended for session in busy] == [None] * 3


def test_ids_in_flight_of_two_types_are_two_ids() -> None:
    session, call, other = _begin(made()), FakeCall(), FakeCall()
    assert session.begin_call("7", call)
    assert not session.begin_call("7", FakeCall())
    assert session.begin_call(7, other)
    assert session.find_call("7") is call
    assert session.find_call(7) is other
    assert session.calls == 2
    session.end_call(7)
    assert session.find_call("7") is call
    session.end_call("7")
    assert not session.busy


def test_the_end_cancels_calls_and_closes_connections() -> None:
    sessions = made()
    session, call, responder = _begin(sessions), FakeCall(), FakeResponder()
    session.begin_call(7, call)
    stream = session.log.open_request_stream(7)
    stream.attach(responder)
    sessions.delete(session.id, "token:a")
    assert call.reason == "the session was deleted"
    assert responder.ended
    session.end_call(7)
    stream.add(b"1", "reply")
    session.log.open_get_stream().attach(late := FakeResponder())
    session.log.notify(b"2")
    assert late.messages == []


def test_the_longest_idle_makes_room() -> None:
    sessions = made(max_sessions=3)
    first, second, third = (_begin(sessions) for _ in range(3))
    sessions.clock.advance(1)
    sessions.find(first.id, "token:a")
    second.begin_call(1, FakeCall())
    assert sessions.admit("token:a") is None
    assert len(sessions) == 3
    _begin(sessions)
    assert [session.ended for session in (first, second, third)] == [None, None, "evicted"]
    assert len(sessions) == 3
    assert sessions.counters.sessions_evicted == 1


def test_one_that_was_never_used_makes_room_first() -> None:
    sessions = made(max_sessions=3)
    used, unused = _begin(sessions), _begin(sessions)
    sessions.clock.advance(1)
    sessions.find(used.id, "token:a")
    sessions.clock.advance(1)
    newer = _begin(sessions)
    used.mark_initialized()
    for _ in range(2):
        sessions.clock.advance(1)
        _begin(sessions)
    assert [session.ended for session in (used, unused, newer)] == [None, "evicted", "evicted"]


def test_newcomers_do_not_end_each_other() -> None:
    sessions = made(max_sessions_each=4, safe_idle=10.0)
    idle = [_begin(sessions) for _ in range(4)]
    for session in idle:
        session.mark_initialized()
    sessions.clock.advance(60)
    newcomers = [_begin(sessions) for _ in range(4)]
    assert [session.ended for session in (*idle, *newcomers)] == ["evicted"] * 4 + [None] * 4
    sessions.clock.advance(3)
    sessions.find(newcomers[0].id, "token:a")
    refused = sessions.admit("token:a")
    assert (refused.status, refused.seconds) == (429, 7)
    assert refused.reason == (
        "4 sessions of this address or token are open, which is the most, and all have calls or were used in "
        "the last 10 s: end one, or try again in 7 s"
    )
    sessions.clock.advance(7)
    _begin(sessions)
    assert [session.ended for session in newcomers] == [None, "evicted", None, None]


def test_the_principal_with_the_most_gives_one() -> None:
    sessions = made(max_sessions=4)
    few = _begin(sessions, "token:few")
    many = [_begin(sessions, "token:many") for _ in range(3)]
    _begin(sessions, "token:new")
    assert few.ended is None
    assert [session.ended for session in many] == ["evicted", None, None]


def test_without_an_idle_one_it_is_refused() -> None:
    sessions = made(max_sessions=2)
    for _ in range(2):
        _begin(sessions).begin_call(1, FakeCall())
    refused = sessions.admit("token:b")
    assert refused.code == BUSY
    assert (refused.status, refused.seconds) == (503, 5)
    assert refused.reason.startswith(
        "2 sessions are open, which is the most, and all have calls or were used"
    )
    with pytest.raises(RefusedMessage):
        _begin(sessions, "token:b")
    assert len(sessions) == 2
    assert sessions.counters.sessions_created == 2
    assert sessions.counters.refused["sessions"] == 2


def test_a_principal_gives_its_own_when_it_has_its_share() -> None:
    sessions = made(max_sessions_each=2)
    other = _begin(sessions, "token:b")
    mine = [_begin(sessions) for _ in range(2)]
    _begin(sessions)
    assert [session.ended for session in (other, *mine)] == [None, "evicted", None]
    for session in sessions:
        session.begin_call(1, FakeCall())
    refused = sessions.admit("token:a")
    assert refused.status == 429
    assert refused.reason.startswith("2 sessions of this address or token are open")
    assert sessions.admit("token:b") is None


def test_a_sweep_handles_a_slice() -> None:
    sessions = made(max_sessions=10_000, max_sessions_each=10_000)
    for number in range(3 * SLICE):
        _begin(sessions, f"address:{number % 7}")
    sessions.clock.advance(TTL)
    left = []
    while len(sessions):
        due = sessions.sweep()
        left.append(len(sessions))
        assert (due <= sessions.clock()) is bool(len(sessions))
    assert left == [2 * SLICE, SLICE, 0]


def test_sessions_of_a_principal_can_be_ended() -> None:
    sessions = made()
    mine, other = [_begin(sessions) for _ in range(2)], _begin(sessions, "token:b")
    sessions.end_principal("token:a")
    sessions.end_principal("token:nobody")
    assert [session.ended for session in (*mine, other)] == ["revoked", "revoked", None]
    assert (sessions.counters.sessions_revoked, sessions.counters.sessions_deleted) == (2, 0)


def test_an_operator_finds_a_session_by_its_beginning_and_kicks_it() -> None:
    sessions = made()
    one, other = _begin(sessions), _begin(sessions)
    assert sessions.starting_with(one.id[:12]) == [one]
    assert sessions.starting_with("none") == []
    assert sorted(sessions.starting_with(""), key=id) == sorted([one, other], key=id)
    one.end("kicked")
    assert sessions.counters.sessions_kicked == 1
    assert sessions.find(one.id, "token:a") is None


def test_iteration_shows_them_by_last_use() -> None:
    sessions = made()
    first, second = _begin(sessions), _begin(sessions)
    sessions.clock.advance(1)
    sessions.find(first.id, "token:a")
    assert list(sessions) == [second, first]
    assert (first.pending, first.pending_bytes, first.open_gets) == (0, 0, 0)
    first.log.notify(b"12")
    assert (first.pending, first.pending_bytes) == (1, 2)


@pytest.mark.parametrize("each", [10, 4], ids=["all", "of one principal"])
def test_sessions_that_are_all_busy_are_looked_at_once(each: int) -> None:
    sessions = made(max_sessions=4, max_sessions_each=each)
    busy = [_begin(sessions) for _ in range(4)]
    for session in busy:
        session.begin_call(1, FakeCall())
    FakeCall.looks = 0
    for _ in range(50):
        assert sessions.admit("token:a") is not None
    assert FakeCall.looks == 4
    busy[2].end_call(1)
    assert sessions.admit("token:a") is None, "a call that ended makes room at once"
    left = FakeCall()
    assert busy[2].begin_call(1, left)
    assert sessions.admit("token:a") is not None
    left.attended = False
    sessions.clock.advance(LOOK_AGAIN)
    assert sessions.admit("token:a") is None, "so does a client that left its call, at the next look"
    _begin(sessions)
    assert busy[2].ended == "evicted"


def test_a_session_that_ended_leaves_nothing() -> None:
    """But for what a table keeps that was filled, with room for differences between Python versions."""
    gc.collect()
    tracemalloc.start()
    sessions = made(max_sessions=1000, max_sessions_each=1000)
    for number in range(1000):
        _begin(sessions, f"address:10.0.0.{number}")
    for session in sessions:
        session.log.open_get_stream().attach(FakeResponder())
        session.log.notify(b"1" * 1000)
        sessions.delete(session.id, session.principal)
    del session
    gc.collect()
    each = tracemalloc.get_traced_memory()[0] / 1000
    tracemalloc.stop()
    assert each < 300
