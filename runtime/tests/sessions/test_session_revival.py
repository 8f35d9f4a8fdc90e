"""Sessions after a restart: found by the same client, their streams continued, their lost calls answered."""

from __future__ import annotations

import asyncio
import json

import pytest

from fake_journal import FakeJournal
from fake_responder import FakeClock, FakeResponder
from longwire.counters import RuntimeCounters
from longwire.sessions.registry import Sessions
from longwire.sessions.session import Session
from longwire.sessions.streams import Stream
from longwire.settings import WireLimits

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
TTL = 100.0


class Process:
    """A server process: its sessions and the journal that the next one inherits."""

    def __init__(self, before: Process | None = None, **limits: int) -> None:
        self.journal = FakeJournal() if before is None else before.journal.crash()
        self.clock = wall = FakeClock() if before is None else before.clock
        self.counters = RuntimeCounters()
        began = 0 if before is None else wall() - 5  # by another clock, with the same time of day
        given = WireLimits(idle_timeout=TTL, **limits)
        self.sessions = Sessions(given, self.journal, self.counters, lambda: wall() - began, wall)

    def killed(self, **limits: int) -> Process:
        """The process that follows."""
        return Process(self, **limits)

    def begin(self, principal: str = "token:a") -> Session:
        session = self.sessions.begin(principal, "2025-11-25", CLIENT)
        self.journal.store()
        return session

    def find(self, session_id: str) -> Session:
        session = self.sessions.find(session_id, "token:a")
        assert session is not None
        self.journal.store()
        return session

    def resume(self, session_id: str, last_event_id: str) -> FakeResponder:
        stream, responder = self.find(session_id).log.resume(last_event_id), FakeResponder()
        stream.attach(responder)
        self.journal.store()
        return responder


def _opened(session: Session, request_id: str | int | None) -> tuple[Stream, FakeResponder]:
    """The stream of a request, or that of a GET, with its client."""
    log, responder = session.log, FakeResponder()
    stream = log.open_get_stream() if request_id is None else log.open_request_stream(request_id)
    stream.prime()
    stream.attach(responder)
    return stream, responder


@pytest.fixture
def process() -> Process:
    return Process()


def test_an_event_is_written_when_it_is_stored(process: Process) -> None:
    session, get = process.begin(), FakeResponder()
    stream, responder = _opened(session, 7)
    session.log.open_get_stream().attach(get)
    stream.add(b"1", "notification")
    session.log.notify(b"2")
    stream.add(b"3", "reply")
    assert responder.events == []
    assert get.events == []
    assert not responder.ended
    process.journal.store()
    assert responder.messages == ["1", "3"]
    assert responder.ended
    assert get.messages == ["2"]


def test_a_session_is_found_by_its_principal_after_a_restart(process: Process) -> None:
    session = process.begin()
    session.mark_initialized()
    session.set_state("log_level", "debug")
    process.journal.store()
    process.clock.advance(TTL / 2)
    after = process.killed()
    assert len(after.sessions) == 1
    assert after.sessions.find(session.id, "token:b") is None
    again = after.find(session.id)
    assert (again.version, again.client, again.initialized) == ("2025-11-25", CLIENT, True)
    assert again.state == {"log_level": "debug"}
    assert again.record().created == session.record().created
    assert after.counters.sessions_resumed == 1
    assert after.counters.sessions_created == 0
    after.find(session.id)
    assert after.counters.sessions_resumed == 1


def test_its_time_goes_on_through_the_restart(process: Process) -> None:
    used, unused = process.begin(), process.begin()
    process.clock.advance(TTL - 10)
    process.find(used.id)
    after = process.killed()
    process.clock.advance(10)
    after.sessions.sweep()
    assert [session.id for session in after.sessions] == [used.id]
    assert after.sessions.find(unused.id, "token:a") is None
    after.journal.store()
    assert set(after.journal.disk) == {used.id}


def test_a_stream_is_resumed_where_its_client_stood(process: Process) -> None:
    session = process.begin()
    stream, responder = _opened(session, "seven")
    stream.add(b"1", "notification")
    process.journal.store()
    last_id = responder.last_id
    responder.stall()
    stream.add(b"2", "notification")
    process.journal.store()  # written, and lost on the way
    stream.add(b"3", "notification")  # never stored, so never written
    after = process.killed()
    again = after.resume(session.id, last_id)
    assert again.messages[0] == "2"
    error = {"code": -32603, "message": "the server restarted before this call ended: call again"}
    assert json.loads(again.messages[1]) == {"jsonrpc": "2.0", "id": "seven", "error": error}
    assert len(again.messages) == 2
    assert again.ended
    assert after.counters.calls_lost == 1


def test_a_lost_call_is_answered_once_through_several_restarts(process: Process) -> None:
    session = process.begin()
    _, responder = _opened(session, 7)
    process.journal.store()
    second = process.killed()
    second.find(session.id)
    third = second.killed()
    again = third.resume(session.id, responder.last_id)
    assert len(again.messages) == 1
    assert third.counters.calls_lost == 0


def test_an_answered_call_is_not_lost(process: Process) -> None:
    session = process.begin()
    stream = session.log.open_request_stream(7)
    stream.prime()
    stream.add(b"1", "reply")
    cancelled = session.log.open_request_stream(9)
    cancelled.finish()
    process.journal.store()
    after = process.killed()
    assert after.resume(session.id, "1-1").messages == ["1"]
    assert after.counters.calls_lost == 0


def test_more_stored_sessions_than_there_may_be_make_room(process: Process) -> None:
    ids = [process.begin().id for _ in range(4)]
    fewer = process.killed(max_sessions=2, safe_idle=0)
    fewer.begin("token:b")
    assert len(fewer.sessions) == 2
    assert fewer.sessions.find(ids[-1], "token:a") is not None


async def test_what_became_of_a_notification_is_said_when_it_is_stored(process: Process) -> None:
    first, second = process.begin(), process.begin()
    told: list[str] = []
    for to in (first.id, None, second.id, "unknown"):
        await process.sessions.notify_and_answer(to, [b"1"], told.append)
    assert told == [], "a process that is killed now has promised nothing"
    process.sessions.delete(second.id, "token:a")
    process.journal.store()
    assert told == ["queued", "delivered", "failed", "unknown"]
    assert len(process.journal.disk[first.id].events) == 2


async def test_a_store_that_takes_too_long_delays_the_answer_no_further() -> None:
    process, answer = Process(send_timeout=0.01), asyncio.get_running_loop().create_future()
    await process.sessions.notify_and_answer(process.begin().id, [b"1"], answer.set_result)
    assert await answer == "queued"
    process.journal.close()  # stores what waits, and calls back: it is answered once


def test_a_session_whose_events_can_t_be_read_ends(process: Process) -> None:
    """Its numbers would begin anew, and a client would take new events for old ones."""
    session = process.begin()
    after = process.killed()
    after.journal.disk.clear()
    assert after.sessions.find(session.id, "token:a") is None
    assert len(after.sessions) == 0
    assert after.counters.sessions_resumed == 0


def test_what_depends_on_the_session_waits_until_it_is_saved(process: Process) -> None:
    told: list[str] = []
    session = process.sessions.begin("token:a", "2025-11-25", CLIENT)
    session.when_saved(lambda: told.append("begun"))
    session.set_state("level", "debug")
    session.when_saved(lambda: told.append("set"))
    assert told == []
    process.journal.store()
    session.when_saved(lambda: told.append("later"))
    assert told == ["begun", "set", "later"]


def test_messages_that_were_about_to_be_written_to_a_new_get_are_found_by_its_id(process: Process) -> None:
    """They were on the stream for the journal when the server was killed, and not yet for the client."""
    session = process.begin()
    session.log.notify(b"1")
    process.journal.store()
    _, responder = _opened(session, None)
    process.journal.store(2)  # the stream, and what waits for that
    assert responder.last_id == "1-0"
    process.journal.store(1)  # the message on that stream, but not what waits for it
    assert responder.messages == []
    after = process.killed()
    assert after.resume(session.id, "1-0").messages == ["1"]


def test_messages_wait_until_a_get_has_its_id(process: Process) -> None:
    session = process.begin()
    _, responder = _opened(session, None)
    session.log.notify(b"1")
    process.journal.store(4)  # the stream, its first event, what waits for that, and the message
    assert [event.id for event in responder.events] == ["1-1"]
    assert [event.stream for event in process.journal.disk[session.id].events.values()] == [1, 0]
    process.journal.store()
    assert [event.id for event in responder.events] == ["1-1", "1-2"]
