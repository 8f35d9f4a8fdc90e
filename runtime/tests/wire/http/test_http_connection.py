"""A connection without I/O: order, keep-alive and framing; bytes of answers; requests by path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import accumulate

import pytest
from http_rig import GET, LIMITS, NEW, OLD, POST, Rig, ok
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_connection import FakeConnection
from fake_responder import FakeClock
from longwire.settings import WireLimits
from longwire.wire.http import answers
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.routes import Routes

CASES = int(os.environ.get("LONGWIRE_FUZZ_CASES", "200"))


def test_a_request_comes_to_the_handler_and_its_answer_goes_out() -> None:
    rig = Rig()
    rig.connection.receive(POST % (b"mcp?x=1", 3, b"abc"))
    ((request, responder),) = rig.got
    assert (request.method, request.path, request.query, request.body) == ("POST", "/mcp", "x=1", b"abc")
    origin = (request.address, request.peer, request.principal.key)
    assert origin == ("10.0.0.9", "10.0.0.9:1234", "address:10.0.0.9")
    assert rig.connection.request is request
    assert not responder.gone
    responder.answer(200, b"{}", b"application/json", ((b"x-a", b"1"),))
    assert rig.sink.taken() == (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n{}"
    )
    assert responder.gone
    assert rig.connection.request is None
    assert rig.sink.calls == []


def test_the_next_request_is_handed_out_when_the_one_before_was_answered() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"1" + GET % b"2" + GET % b"3")
    assert rig.paths == ["/1"]
    rig.got[0][1].answer(200, b"one")
    assert rig.paths == ["/1"], "not in the turn and the context of the first request's task"
    rig.sink.turn()
    assert rig.paths == ["/1", "/2"]
    rig.got[1][1].answer(200, b"two")
    rig.sink.turn()
    rig.got[2][1].answer(200, b"three")
    assert rig.sink.taken() == ok(b"one") + ok(b"two") + ok(b"three")


def test_many_requests_at_once_leave_turns_to_others() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(GET % b"a" * 100)
    assert len(rig.got) < 50
    for _ in range(100):
        rig.sink.turn()
    assert len(rig.got) == 100
    assert rig.sink.taken() == ok(b"/a") * 100
    assert rig.connection.waits_for == "request"


def test_bytes_that_arrive_bring_no_turn() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(GET % b"1" + GET % b"2")
    for _ in range(3000):
        rig.connection.receive(GET % b"3")
    assert rig.paths == ["/1"]
    assert len(rig.sink.due) == 1
    assert rig.sink.calls == ["pause"], "what waits for a turn is bounded too"


def test_reading_pauses_when_much_waits_behind_a_request() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"1")
    rig.connection.receive(GET % b"2" * 1000)
    assert rig.sink.calls == []
    rig.connection.receive(GET % b"2" * 2000)
    assert rig.sink.calls == ["pause"]
    rig.at_once = True
    rig.got[0][1].answer(200)
    for _ in range(3000):
        rig.sink.turn()
    assert len(rig.got) == 3001
    assert rig.sink.calls == ["pause", "resume"]


def test_a_large_body_is_read_whole_though_it_is_longer_than_what_may_wait() -> None:
    bodies: list[bytes] = []
    limits = WireLimits(max_message=1 << 20)
    connection = FakeConnection(lambda request, responder: bodies.append(request.body), limits)
    connection.receive(POST % (b"", 300_000, b""))
    for _ in range(300):
        connection.receive(b"x" * 1000)
    assert [len(body) for body in bodies] == [300_000]
    assert connection.calls == []


def test_a_client_that_reads_nothing_gets_no_more_answers() -> None:
    rig = Rig(at_once=True)
    rig.connection.full()
    rig.connection.receive(GET % b"1" + GET % b"2")
    assert rig.paths == []
    rig.connection.room()
    assert rig.paths == [], "before it is this connection's turn"
    rig.sink.turn()
    assert rig.paths == ["/1"]
    rig.sink.turn()
    assert rig.paths == ["/1", "/2"]


@pytest.mark.parametrize(
    ("head", "extra", "stays"),
    [
        (GET % b"", b"", True),
        (NEW % b"connection: close\r\n", b"close", False),
        (NEW % b"Connection: x\r\nConnection: y, Close\r\n", b"close", False),
        (OLD % b"", b"close", False),
        (OLD % b"connection: keep-alive\r\n", b"keep-alive", True),
        (OLD % b"connection: keep-alive, close\r\n", b"close", False),
    ],
)
def test_keep_alive(head: bytes, extra: bytes, stays: bool) -> None:
    rig = Rig(at_once=True)
    assert rig.receive(head) == ok(b"/", extra and b"connection: %b\r\n" % extra)
    assert rig.sink.calls == ([] if stays else ["close"])
    assert rig.connection.closed is not stays
    assert (rig.receive(GET % b"2") != b"") is stays


def test_what_follows_the_last_request_is_thrown_away_without_a_reset() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(NEW % b"connection: close\r\n" + GET % b"2")
    assert rig.paths == ["/"]
    assert rig.sink.calls == ["end"]
    assert rig.connection.waits_for == "end"
    rig.connection.receive(b"more")
    rig.clock.now = rig.connection.deadline
    rig.connection.expire()
    assert rig.sink.calls == ["end", "close"]


def test_head_is_answered_without_the_body() -> None:
    rig = Rig()
    rig.asked(b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").answer(200, b"abc", b"text/plain")
    assert rig.sink.taken() == b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\n"
    responder = rig.asked(b"HEAD /2 HTTP/1.1\r\nhost: a\r\n\r\n")
    responder.begin_events()
    responder.send(b"data: x\n\n")
    responder.end()
    assert rig.sink.taken().endswith(b"\r\n\r\n")
    assert rig.connection.waits_for == "request"


@pytest.mark.parametrize(
    ("status", "line"),
    [(202, b"202 Accepted"), (431, b"431 Request Header Fields Too Large"), (299, b"299 ")],
)
def test_status_lines(status: int, line: bytes) -> None:
    data = answers.whole_answer(status, b"", b"", (), b"")
    assert data == b"HTTP/1.1 " + line + b"\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("line", [b"204 No Content", b"304 Not Modified"])
def test_answers_that_have_no_body_tell_no_length(line: bytes) -> None:
    data = answers.whole_answer(int(line[:3]), b"x", b"text/plain", ((b"x", b"y"),), b"")
    assert data == b"HTTP/1.1 " + line + b"\r\nx: y\r\n\r\n"


def test_the_date_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for now, second in ((784111777.2, 37), (784111777.9, 37), (784111778.1, 38), (784111768.1, 28)):
        monkeypatch.setattr(answers.time, "time", lambda now=now: now)
        assert answers.date_line() == b"date: Sun, 06 Nov 1994 08:49:%d GMT\r\n" % second


@pytest.mark.parametrize(
    "field", [(b"x", b"a\rb"), (b"x", b"a\nb"), (b"x", b"\0"), (b"x\r\ny", b"a"), (b"x", b"\r\n")]
)
def test_headers_that_would_break_their_line(field: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="CR, LF or NUL"):
        answers.header_lines(((b"good", b"1"), field))


def page(_: Request, responder: Responder) -> None:
    responder.answer(200)


def answer(line: bytes) -> bytes:
    routes = Routes({"/mcp": page, "/messages/": page}, shown=["/mcp"])
    connection = FakeConnection(routes, WireLimits())
    connection.receive(line + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    return connection.taken()


def test_options_of_the_server_as_a_whole() -> None:
    found = answer(b"OPTIONS *")
    assert found.startswith(b"HTTP/1.1 204 ")
    assert b"allow: GET, HEAD, POST, DELETE, OPTIONS\r\n" in found


def test_clients_are_pointed_to_the_paths_that_are_theirs() -> None:
    found = answer(b"GET /mcp/")
    assert found.startswith(b"HTTP/1.1 404 ")
    assert found.endswith(b"there is nothing here: use /mcp\n")
    assert answer(b"GET /messages/").startswith(b"HTTP/1.1 200 ")


REQUESTS = st.lists(
    st.sampled_from(
        [
            *(
                GET % b"1",
                POST % (b"2", 3, b"abc"),
                OLD % b"",
                OLD % b"connection: keep-alive\r\n",
                b"\r\n",
                b"x",
            ),
            b"POST /3 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            b"POST /4 HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\nabc",
            b"HEAD /5 HTTP/1.1\r\nhost: a\r\n\r\n",
            *(GET % b"events", NEW % b"connection: close\r\n"),
        ]
    )
    | st.binary(max_size=5),
    max_size=40,
).map(b"".join)


@settings(max_examples=CASES, deadline=None)
@given(REQUESTS, st.lists(st.integers(1, 60), max_size=30), st.lists(st.booleans(), min_size=8, max_size=8))
def test_any_bytes_in_any_pieces_with_late_answers_give_the_same_answers(
    data: bytes, sizes: list[int], late: list[bool]
) -> None:
    """Only when 100 Continue is said depends on the pieces."""

    def answers(pieces: list[bytes], late: list[bool]) -> tuple[bytes, list[str]]:
        waiting: list[Callable[[], None]] = []

        def handler(request: Request, responder: Responder) -> None:
            def answer() -> None:
                if request.path == "/events":
                    responder.begin_events()
                    responder.send(b"data: 1\n\n")
                    responder.end()
                else:
                    responder.answer(200, request.path.encode() + request.body)

            if late[len(sink.written) % len(late)]:
                waiting.append(answer)
            else:
                answer()

        connection = sink = FakeConnection(handler, LIMITS, clock=FakeClock())
        for piece in pieces:
            connection.receive(piece)
            assert len(waiting) <= 1
            if waiting and len(piece) % 2:
                waiting.pop()()
        while sink.due or waiting:
            sink.turn()
            if waiting:
                waiting.pop()()
        if connection.closed:
            assert sink.calls[-1] in ("end", "close")
        else:
            assert sink.calls[-1:] != ["pause"]
            assert connection.deadline < float("inf")
        plain = re.sub(rb"(x-request-id|date): [^\r]*\r\n", b"", bytes(sink.written))
        return plain.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""), sink.calls

    pieces = [data[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]
    pieces.append(data[sum(sizes) :])
    assert answers(pieces, late)[0] == answers([data], [False])[0]
