"""The event log: each message goes to one stream, waits where no client is, and can be replayed."""

from __future__ import annotations

import pytest

from fake_journal import FakeJournal
from fake_responder import FakeResponder
from longwire.counters import RuntimeCounters
from longwire.journal.journal import Journal
from longwire.sessions import streams
from longwire.sessions.event_log import MAX_QUIET_GETS, EventLog
from longwire.sessions.streams import ROOM, Stream
from longwire.settings import WireLimits


class Log(EventLog):
    """The log of a session, with its counters to look at."""

    def __init__(self, journal: Journal | None = None, **limits: int) -> None:
        self.counters = RuntimeCounters()
        super().__init__("s", journal or Journal(), WireLimits(**limits), self.counters)


@pytest.fixture
def log() -> Log:
    return Log()


def _get(log: EventLog, *, reading: bool = True) -> FakeResponder:
    responder = FakeResponder(reading=reading)
    log.open_get_stream().attach(responder)
    return responder


def _call(log: EventLog) -> tuple[Stream, FakeResponder]:
    """The stream of a request, with its client."""
    stream, responder = log.open_request_stream(7), FakeResponder()
    stream.prime()
    stream.attach(responder)
    return stream, responder


def _resume(log: EventLog, last_event_id: str) -> FakeResponder:
    stream = log.resume(last_event_id)
    responder = FakeResponder()
    stream.attach(responder)
    return responder


def test_a_request_stream_writes_and_ends_with_the_reply(log: Log) -> None:
    stream, responder = log.open_request_stream(7), FakeResponder()
    stream.prime()
    stream.add(b'"early"', "notification")
    stream.attach(responder)
    stream.add(b'"late"', "notification")
    assert not responder.ended
    stream.add(b'"reply"', "reply")
    assert responder.ended
    assert [event.id for event in responder.events] == ["1-1", "1-2", "1-3", "1-4"]
    assert responder.events[0].retry == 1000
    assert responder.messages == ['"early"', '"late"', '"reply"']
    assert log.counters.messages_delivered == 3
    assert log.pending == 0


def test_who_comes_back_to_a_durable_log_waits_for_a_restart() -> None:
    log = Log(FakeJournal(at_once=True))
    _, responder = _call(log)
    assert responder.events[0].retry == 3000


def test_a_dropped_get_is_resumed_after_the_last_event(log: Log) -> None:
    first = _get(log)
    log.notify(b"1")
    last_id = first.last_id
    first.stall()
    log.notify(b"2")
    first.drop()
    log.notify(b"3")
    again = _resume(log, last_id)
    assert again.messages == ["2", "3"]
    assert log.counters.messages_resumed == 1
    assert log.counters.messages_delivered == 3


def test_resuming_ends_the_earlier_response(log: EventLog) -> None:
    first = _get(log)
    log.notify(b"1")
    again = _resume(log, first.last_id)
    assert first.ended
    log.notify(b"2")
    assert again.messages == ["2"]
    assert log.open_gets == 1


@pytest.mark.parametrize(
    "last_event_id", ["", "1", "1-2", "2-1", "0-1", "1-00", "-1-1", "1-1 ", "a", "1-1-1", "1-" + "9" * 40]
)
def test_an_id_of_no_event_is_refused(log: EventLog, last_event_id: str) -> None:
    responder = _get(log)
    log.notify(b"1")
    assert responder.last_id == "1-1"
    assert log.resume(last_event_id) is None


def test_sent_events_go_first() -> None:
    log = Log(max_pending=4)
    responder = _get(log)
    log.notify(b"1")
    log.notify(b"2")
    responder.drop()
    for number in range(3, 7):
        log.notify(b"%d" % number)
    assert log.kept == 4
    assert log.counters.messages_dropped == 0
    assert _get(log).messages == ["3", "4", "5", "6"]


def test_then_the_oldest_notifications_and_no_reply_or_request() -> None:
    log = Log(max_pending=4)
    stream, first = _call(log)
    first.drop()
    stream.add(b'"reply"', "reply")
    log.notify(b'"request"', "request")
    for number in range(6):
        log.notify(b"%d" % number)
    assert log.kept == 4
    assert log.counters.messages_dropped == 4
    assert _get(log).messages == ['"request"', "4", "5"]
    assert _resume(log, "1-1").messages == ['"reply"']


def test_bytes_are_bounded_too() -> None:
    log = Log(max_pending_bytes=100)
    for number in range(10):
        log.notify(b'"%038d"' % number)
    assert (log.kept, log.kept_bytes, log.counters.messages_dropped) == (2, 80, 8)


def test_a_client_that_was_away_for_long_still_gets_its_reply() -> None:
    log = Log(max_pending=4)
    stream, first = _call(log)
    first.drop()
    for number in range(10):
        stream.add(b"%d" % number, "notification")
    stream.add(b'"reply"', "reply")
    assert _resume(log, first.last_id).messages == ["7", "8", "9", '"reply"']


def test_gets_that_come_and_go_are_not_kept_for_ever() -> None:
    log = Log(max_pending=1)
    first = _get(log)
    log.notify(b"1")
    first.drop()
    for number in range(3 * MAX_QUIET_GETS):
        responder = _get(log)
        log.notify(b"%d" % number)
        responder.drop()
    assert log.resume(first.last_id) is None
    assert log.resume(responder.last_id) is not None


def test_a_get_that_left_before_it_was_written_anything_leaves_nothing() -> None:
    log = Log(journal := FakeJournal())
    stream, responder = log.open_get_stream(), FakeResponder()
    stream.prime()
    stream.attach(responder)
    responder.drop()
    journal.store()
    assert (log.kept, log.pending) == (0, 0)
    assert log.resume("1-1") is None


def test_replies_that_a_stalled_client_leaves_behind_are_bounded() -> None:
    log = Log(max_pending=4)
    responders = []
    for number in range(9):
        stream, responder = log.open_request_stream(number), FakeResponder(reading=False, weight=ROOM)
        stream.prime()
        stream.attach(responder)
        stream.add(b"%d" % number, "reply")
        responders.append(responder)
    assert log.pending == 9  # their clients are there
    for responder in responders:
        responder.drop()
    assert log.kept == 4


def test_a_connection_is_closed_when_the_client_has_an_id() -> None:
    log = Log(journal := FakeJournal())
    stream, responder = _call(log)
    stream.close_connection()
    assert not responder.ended
    stream.add(b"1", "reply")
    journal.store()
    assert responder.ended
    assert [event.data for event in responder.events] == [""]
    assert _resume(log, "1-1").messages == ["1"]


def test_first_ids_that_await_the_store_take_no_room_from_messages() -> None:
    log = Log(journal := FakeJournal(), max_pending=4)
    streams = [log.open_get_stream() for _ in range(3)]
    responders = [FakeResponder() for _ in streams]
    for stream, responder in zip(streams, responders, strict=True):
        stream.prime()
        stream.attach(responder)
    for number in range(3):
        log.notify(b"%d" % number, "request")
    assert log.counters.messages_dropped == 0
    journal.store()
    assert sorted(message for responder in responders for message in responder.messages) == ["0", "1", "2"]
    assert log.pending == 0


def test_a_client_takes_a_queue_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ROOM", 10)
    log = Log(max_pending=3000)
    messages = [f'"{number} {"x" * 10}"' for number in range(3000)]
    for message in messages:
        log.notify(message.encode())
    assert _get(log).messages == messages
