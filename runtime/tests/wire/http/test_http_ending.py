"""What a connection without I/O refuses, how its answers go out, and how it ends."""

from __future__ import annotations

import re
import weakref
from collections.abc import Mapping

import pytest
from http_rig import GET, LIMITS, OLD, POST, Rig, ok

from fake_connection import FakeConnection
from longwire.wire.http.request import HeaderList, Request, Responder

ASKS = b"POST /%b HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"


def test_continue_is_sent_once_when_the_body_is_awaited() -> None:
    rig = Rig()
    head = ASKS % (b"", 3)
    assert rig.receive(head) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert rig.receive(b"a") == b""
    assert rig.receive(b"bc") == b""
    rig.got[0][1].answer(200)
    rig.sink.taken()
    assert rig.receive(head + b"abc") == b"", "the body has come without it"
    assert [request.body for request, _ in rig.got] == [b"abc", b"abc"]


def test_a_body_that_is_too_long_is_refused_before_it_is_sent() -> None:
    rig = Rig()
    answer = rig.receive(ASKS % (b"", 1001))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer
    assert b"connection: close" in answer
    assert rig.got == []
    assert rig.sink.calls == ["end"]


def test_a_request_that_is_not_admitted_is_answered_before_its_body_comes() -> None:
    seen: list[Request] = []

    def admit(request: Request, responder: Responder) -> bool:
        seen.append(request)
        if request.path == "/no":
            responder.answer(401, b"no")
            return False
        return True

    rig = Rig(admit=admit, at_once=True)
    assert rig.receive(ASKS % (b"yes", 3)) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert rig.receive(b"abc") == ok(b"/yes")
    assert rig.receive(POST % (b"whole", 3, b"abc")) == ok(b"/whole"), "the handler checks whole requests"
    assert [request.path for request in seen] == ["/yes"]
    refusal = b"HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno"
    assert rig.receive(ASKS % (b"no", 3)) == refusal
    assert rig.sink.calls == ["end"]
    assert rig.receive(b"abc" + GET % b"") == b""
    assert rig.paths == ["/yes", "/whole"]


def test_a_handler_that_fails_is_500_and_the_connection_goes_on() -> None:
    def handler(request: Request, responder: Responder) -> None:
        if request.path == "/events":
            responder.begin_events()
        raise KeyError("a")

    connection = sink = FakeConnection(handler, LIMITS)
    connection.receive(GET % b"1" + GET % b"2")
    sink.turn()
    assert sink.taken().count(b"HTTP/1.1 500 ") == 2
    connection.receive(GET % b"events")
    assert not sink.taken().endswith(b"0\r\n\r\n"), "events that were cut off have no proper end"
    assert sink.calls == ["close"]


def test_bad_bytes_are_refused_and_the_client_can_read_why() -> None:
    rig = Rig()
    answer = rig.receive(GET % b"1" + b"GET / HTTP/3.0\r\n\r\n")
    assert answer == b"", "the first request comes first"
    rig.got[0][1].answer(200)
    rig.sink.turn()
    answers = rig.sink.taken()
    assert answers.startswith(ok(b"") + b"HTTP/1.1 505 ")
    assert answers.endswith(b'send HTTP/1.1"}}')
    assert rig.sink.calls == ["end"]
    assert rig.receive(GET % b"2") == b""
    assert len(rig.got) == 1


@pytest.mark.parametrize(
    ("data", "given"),
    [
        (b"GARBAGE\r\n\r\n", b"[0-9a-f-]+"),
        (b"POST /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: proxy-42\r\n\r\n", b"proxy-42"),
    ],
)
def test_requests_that_no_handler_sees_have_an_id_too(data: bytes, given: bytes) -> None:
    rig = Rig()
    rig.connection.receive(data)
    assert re.search(rb"\r\nx-request-id: " + given + rb"\r\n", bytes(rig.sink.written))


def test_a_post_without_a_length_is_411_and_the_last() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(b"POST /a HTTP/1.1\r\nHost: a\r\n\r\n" + GET % b"b")
    assert rig.sink.taken().startswith(b"HTTP/1.1 411 ")
    assert rig.connection.closed
    assert rig.paths == []


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 99999999\r\n\r\n", b"\r\n", b"Transfer-Encoding: chunked\r\n\r\nz\r\n"]
)
def test_pages_may_read_refusals_of_requests_that_no_handler_sees(rest: bytes) -> None:
    def for_pages(headers: Mapping[str, str]) -> HeaderList:
        return [(b"access-control-allow-origin", headers["origin"].encode())]

    connection = FakeConnection(lambda *_: None, LIMITS, for_pages=for_pages)
    connection.receive(b"POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n" + rest)
    assert b"access-control-allow-origin: http://b\r\n" in connection.taken()


def test_events_are_chunks_at_1_1() -> None:
    rig = Rig()
    responder = rig.asked(GET % b"")
    responder.begin_events(((b"mcp-session-id", b"7"),))
    responder.send(b"data: 1\n\n")
    responder.send(b"")
    responder.send(b"data: " + b"x" * 20 + b"\n\n")
    assert not responder.gone
    responder.end()
    head, _, body = rig.sink.taken().partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"transfer-encoding: chunked",
        b"content-type: text/event-stream",
        b"cache-control: no-cache, no-transform",
        b"x-accel-buffering: no",
        b"mcp-session-id: 7",
    ]
    assert body == b"9\r\ndata: 1\n\n\r\n1c\r\ndata: " + b"x" * 20 + b"\n\n\r\n0\r\n\r\n"
    responder.send(b"late")
    responder.end()
    assert rig.sink.taken() == b""
    assert rig.sink.calls == []


def test_events_end_with_the_connection_at_1_0() -> None:
    rig = Rig()
    responder = rig.asked(OLD % b"connection: keep-alive\r\n")
    responder.begin_events()
    responder.send(b"data: 1\n\n")
    responder.end()
    head, _, body = rig.sink.taken().partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head
    assert body == b"data: 1\n\n"
    assert rig.sink.calls == ["close"]


def test_a_second_answer_changes_nothing() -> None:
    rig = Rig()
    responder = rig.asked(GET % b"")
    responder.answer(200)
    rig.sink.taken()
    responder.answer(500)
    responder.begin_events()
    responder.send(b"x")
    assert rig.sink.taken() == b""


def test_a_client_that_goes_is_told_to_those_who_answer_it() -> None:
    rig = Rig()
    told: list[str] = []
    responder = rig.asked(GET % b"1" + GET % b"2")
    responder.begin_events()
    responder.on_gone(lambda: told.append("a"))
    responder.on_gone(lambda: told.append("b"))
    rig.sink.taken()
    rig.connection.lost()
    rig.connection.lost()
    assert told == ["a", "b"]
    assert responder.gone
    assert rig.connection.request is None
    responder.send(b"data: 1\n\n")
    responder.end()
    rig.sink.turn()
    assert rig.sink.taken() == b""
    assert rig.paths == ["/1"]


def test_an_answer_that_has_ended_holds_none_of_those_it_told() -> None:
    class Holder:
        def call(self) -> None: ...

    rig = Rig()
    rig.connection.receive(GET % b"1")
    responder, holder = rig.got[0][1], Holder()
    responder.on_gone(holder.call)
    responder.on_room(holder.call)
    left = weakref.ref(holder)
    del holder
    responder.answer(200)
    assert left() is None


def test_room_is_told_while_events_are_sent() -> None:
    rig = Rig()
    told: list[str] = []
    responder = rig.asked(GET % b"1")
    responder.begin_events()
    responder.on_room(lambda: told.append("room"))
    rig.sink.unsent = 70_000
    rig.connection.full()
    assert responder.unsent == 70_000
    rig.sink.unsent = 0
    rig.connection.room()
    rig.connection.full()
    rig.connection.room()
    assert told == ["room", "room"]
    responder.end()
    rig.sink.unsent = 10
    assert responder.unsent == 0
    rig.connection.room()
    assert told == ["room", "room"]


def test_deadlines() -> None:
    rig = Rig()
    connection, clock = rig.connection, rig.clock
    waits = lambda: (connection.waits_for, connection.deadline - clock.now)  # noqa: E731
    assert waits() == ("head", LIMITS.head_timeout)
    clock.now += 1
    connection.receive(b"\r\n")
    assert waits() == ("head", LIMITS.head_timeout - 1), "an empty line gives no more time"
    connection.receive(b"POST / HTTP/1.1\r\nhost: a\r\n")
    assert waits() == ("head", LIMITS.head_timeout - 1)
    connection.receive(b"content-length: 3\r\n\r\n")
    assert waits() == ("body", LIMITS.read_timeout)
    clock.now += 1
    connection.receive(b"ab")
    assert waits() == ("body", LIMITS.read_timeout - 1)
    connection.receive(b"c")
    assert waits() == ("", float("inf"))
    clock.now += 1000
    rig.got[0][1].answer(200)
    assert waits() == ("request", 30)
    clock.now += 10
    connection.receive(b"G")
    assert waits() == ("head", LIMITS.head_timeout)
    connection.receive(b"ET / HTTP/1.1\r\nhost: a\r\n\r\nGE")
    assert waits() == ("", float("inf"))
    clock.now += 1000
    rig.got[1][1].answer(200)
    rig.sink.turn()
    assert waits() == ("head", LIMITS.head_timeout), "what came behind waited for its turn"
    clock.now += 1
    connection.receive(b"T / HTTP/1.1\r\nhost: a\r\n\r\n")
    rig.got[2][1].answer(200)
    assert waits() == ("request", 30)
    rig.at_once = True
    clock.now += 7
    connection.receive(GET % b"")
    assert waits() == ("request", 30)


@pytest.mark.parametrize(
    ("before", "status"),
    [
        (b"", b""),
        (b"GET", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\na", b"HTTP/1.1 408 "),
    ],
)
def test_a_deadline_that_passes_ends_the_connection(before: bytes, status: bytes) -> None:
    rig = Rig()
    rig.connection.receive(before)
    rig.connection.expire()
    answer = rig.sink.taken()
    assert answer.startswith(status)
    assert (answer == b"") is (status == b"")
    assert rig.sink.calls == ["close"]
    assert rig.connection.closed
    assert rig.receive(GET % b"") == b""


def test_finish_closes_after_the_answer_in_progress() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"1")
    rig.connection.finish()
    assert rig.sink.calls == []
    rig.got[0][1].answer(200)
    assert rig.sink.taken() == ok(b"", b"connection: close\r\n")
    assert rig.sink.calls == ["close"]


def test_finish_lets_a_body_arrive_and_closes_an_idle_connection_at_once() -> None:
    for sent, left, answer in (
        (POST % (b"1", 3, b"a"), b"bc", ok(b"/1", b"connection: close\r\n")),
        (GET % b"1", b"", b""),
    ):
        rig = Rig(at_once=True)
        rig.receive(sent)
        rig.connection.finish()
        assert rig.receive(left) == answer
        assert (rig.sink.calls, rig.connection.closed) == (["close"], True)


def test_stop_ends_answers_properly() -> None:
    rig = Rig()
    told: list[str] = []
    responder = rig.asked(GET % b"1")
    responder.on_gone(lambda: told.append("gone"))
    rig.connection.stop()
    answer = rig.sink.taken()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in answer
    assert b"connection: close" in answer
    assert told == ["gone"]
    assert responder.gone
    assert rig.sink.calls == ["close"]

    rig = Rig()
    responder = rig.asked(GET % b"1")
    responder.begin_events()
    responder.on_gone(lambda: told.append("events"))
    rig.connection.stop()
    assert rig.sink.taken().endswith(b"\r\n\r\n0\r\n\r\n")
    assert told == ["gone", "events"]
    assert rig.sink.calls == ["close"]
