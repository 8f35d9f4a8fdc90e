"""A connection without I/O: order, keep-alive, framing, refusals, deadlines and the end."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.mcp.settings import WireLimits
from acuity.mcp.wire.http.connection import HttpConnection
from acuity.mcp.wire.http.request import HeaderList, Request, Responder
from fake_sink import FakeSink

GET = b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n"
POST = b"POST /%b HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b"
OLD = b"GET / HTTP/1.0\r\n%b\r\n"
CASES = int(os.environ.get("ACUITY_FUZZ_CASES", "200"))
LIMITS = WireLimits(max_message=1000)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Rig:
    """A connection with a handler that keeps requests until the test answers them."""

    def __init__(self, *, at_once: bool = False, admit: Callable[[Request, Responder], bool] | None = None):
        self.sink = FakeSink()
        self.clock = Clock()
        self.got: list[tuple[Request, Responder]] = []
        self.at_once = at_once
        self.connection = HttpConnection(
            self.handle,
            self.sink,
            LIMITS,
            address="10.0.0.9",
            peer="10.0.0.9:1234",
            admit=admit,
            clock=self.clock,
        )

    def handle(self, request: Request, responder: Responder) -> None:
        self.got.append((request, responder))
        if self.at_once:
            responder.answer(200, request.path.encode())

    def receive(self, data: bytes) -> bytes:
        self.connection.receive(data)
        return self.sink.taken()

    @property
    def paths(self) -> list[str]:
        return [request.path for request, _ in self.got]


def ok(body: bytes, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (extra, len(body), body)


def test_a_request_comes_to_the_handler_and_its_answer_goes_out() -> None:
    rig = Rig()
    rig.connection.receive(POST % (b"mcp?x=1", 3, b"abc"))
    ((request, responder),) = rig.got
    assert (request.method, request.path, request.query, request.body) == ("POST", "/mcp", "x=1", b"abc")
    assert (request.address, request.peer, request.principal.key) == (
        "10.0.0.9",
        "10.0.0.9:1234",
        "address:10.0.0.9",
    )
    assert rig.connection.request is request
    assert not responder.gone
    responder.answer(200, b"{}", b"application/json", ((b"x-a", b"1"),))
    assert rig.sink.taken() == (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n{}"
    )
    assert responder.gone
    assert rig.connection.request is None
    assert rig.sink.calls == []


def test_answers_carry_the_date() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(GET % b"a")
    assert b"\r\ndate: " in rig.sink.written


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


def test_reading_pauses_when_much_waits_behind_a_request() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"1")
    rig.connection.receive(GET % b"2" * 1000)
    assert rig.connection.wants_data
    rig.connection.receive(GET % b"2" * 2000)
    assert not rig.connection.wants_data
    assert rig.sink.calls == ["pause"]
    rig.at_once = True
    rig.got[0][1].answer(200)
    for _ in range(3000):
        rig.sink.turn()
    assert len(rig.got) == 3001
    assert rig.sink.calls == ["pause", "resume"]
    assert rig.connection.wants_data


def test_a_large_body_is_read_whole_though_it_is_longer_than_what_may_wait() -> None:
    sink, bodies = FakeSink(), []
    connection = HttpConnection(
        lambda request, responder: bodies.append(request.body), sink, WireLimits(max_message=1 << 20)
    )
    connection.receive(POST % (b"", 300_000, b""))
    for _ in range(300):
        connection.receive(b"x" * 1000)
    assert [len(body) for body in bodies] == [300_000]
    assert sink.calls == []


def test_a_client_that_reads_nothing_gets_no_more_answers() -> None:
    rig = Rig(at_once=True)
    rig.connection.full()
    rig.connection.receive(GET % b"1" + GET % b"2")
    assert rig.paths == []
    rig.connection.room()
    assert rig.paths == ["/1"]
    rig.sink.turn()
    assert rig.paths == ["/1", "/2"]


@pytest.mark.parametrize(
    ("head", "extra", "stays"),
    [
        (b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", b"", True),
        (b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", b"connection: close\r\n", False),
        (
            b"GET / HTTP/1.1\r\nhost: a\r\nConnection: x\r\nConnection: y, Close\r\n\r\n",
            b"connection: close\r\n",
            False,
        ),
        (OLD % b"", b"connection: close\r\n", False),
        (OLD % b"connection: keep-alive\r\n", b"connection: keep-alive\r\n", True),
        (OLD % b"connection: keep-alive, close\r\n", b"connection: close\r\n", False),
    ],
)
def test_keep_alive(head: bytes, extra: bytes, stays: bool) -> None:
    rig = Rig(at_once=True)
    assert rig.receive(head) == ok(b"/", extra)
    assert rig.sink.calls == ([] if stays else ["close"])
    assert rig.connection.closed is not stays
    assert (rig.receive(GET % b"2") != b"") is stays


def test_what_follows_the_last_request_is_thrown_away_without_a_reset() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n" + GET % b"2")
    assert rig.paths == ["/"]
    assert rig.sink.calls == ["end"]
    assert rig.connection.waits_for == "end"
    rig.connection.receive(b"more")
    rig.clock.now = rig.connection.deadline
    rig.connection.expire()
    assert rig.sink.calls == ["end", "close"]


def test_head_is_answered_without_the_body() -> None:
    rig = Rig()
    rig.connection.receive(b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n")
    rig.got[0][1].answer(200, b"abc", b"text/plain")
    assert rig.sink.taken() == b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\n"
    rig.connection.receive(b"HEAD /2 HTTP/1.1\r\nhost: a\r\n\r\n")
    responder = rig.got[1][1]
    responder.begin_events()
    responder.send(b"data: x\n\n")
    responder.end()
    assert rig.sink.taken().endswith(b"\r\n\r\n")
    assert rig.connection.waits_for == "request"


def test_events_are_chunks_at_1_1() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"")
    responder = rig.got[0][1]
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
    rig.connection.receive(OLD % b"connection: keep-alive\r\n")
    responder = rig.got[0][1]
    responder.begin_events()
    responder.send(b"data: 1\n\n")
    responder.end()
    head, _, body = rig.sink.taken().partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head
    assert body == b"data: 1\n\n"
    assert rig.sink.calls == ["close"]


def test_an_answer_in_the_midst_of_events_is_an_error_of_the_program() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"")
    responder = rig.got[0][1]
    responder.begin_events()
    with pytest.raises(RuntimeError, match="begun as events"):
        responder.answer(200)
    with pytest.raises(RuntimeError, match="begun as events"):
        responder.begin_events()


def test_a_second_answer_changes_nothing() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"")
    responder = rig.got[0][1]
    responder.answer(200)
    rig.sink.taken()
    responder.answer(500)
    responder.begin_events()
    responder.send(b"x")
    assert rig.sink.taken() == b""


@pytest.mark.parametrize("value", [b"a\r\nx: y", b"a\nb", b"a\0", b"a\r"])
def test_a_header_that_would_break_its_line_is_refused(value: bytes) -> None:
    rig = Rig()
    rig.connection.receive(GET % b"")
    responder = rig.got[0][1]
    with pytest.raises(ValueError, match="CR, LF or NUL"):
        responder.answer(200, b"", b"", ((b"x-a", value),))
    with pytest.raises(ValueError, match="CR, LF or NUL"):
        responder.begin_events(((b"x-a", value),))
    assert rig.sink.taken() == b""
    responder.answer(200)
    assert rig.sink.taken() == ok(b"")


def test_continue_is_sent_once_when_the_body_is_awaited() -> None:
    rig = Rig()
    head = b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n"
    assert rig.receive(head) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert rig.receive(b"a") == b""
    assert rig.receive(b"bc") == b""
    rig.got[0][1].answer(200)
    rig.sink.taken()
    assert rig.receive(head + b"abc") == b"", "the body has come without it"
    assert [request.body for request, _ in rig.got] == [b"abc", b"abc"]


def test_a_body_that_is_too_long_is_refused_before_it_is_sent() -> None:
    rig = Rig()
    answer = rig.receive(
        b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1001\r\n\r\n"
    )
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
    asks = b"POST /%b HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n"
    assert rig.receive(asks % b"yes") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert rig.receive(b"abc") == ok(b"/yes")
    assert rig.receive(POST % (b"whole", 3, b"abc")) == ok(b"/whole"), "the handler checks whole requests"
    assert [request.path for request in seen] == ["/yes"]
    assert rig.receive(asks % b"no") == (
        b"HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno"
    )
    assert rig.sink.calls == ["end"]
    assert rig.receive(b"abc" + GET % b"") == b""
    assert rig.paths == ["/yes", "/whole"]


def test_a_check_that_fails_is_500() -> None:
    def admit(request: Request, responder: Responder) -> bool:
        raise KeyError("a")

    rig = Rig(admit=admit)
    assert rig.receive(POST % (b"", 3, b"")).startswith(b"HTTP/1.1 500 ")
    assert rig.connection.closed


def test_a_handler_that_fails_is_500_and_the_connection_goes_on() -> None:
    sink = FakeSink()

    def handler(request: Request, responder: Responder) -> None:
        if request.path == "/events":
            responder.begin_events()
        raise KeyError("a")

    connection = HttpConnection(handler, sink, LIMITS)
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


def test_a_client_that_goes_is_told_to_those_who_answer_it() -> None:
    rig = Rig()
    told: list[str] = []
    rig.connection.receive(GET % b"1" + GET % b"2")
    responder = rig.got[0][1]
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


def test_nobody_is_told_of_a_client_that_goes_after_the_answer() -> None:
    rig = Rig()
    told: list[str] = []
    rig.connection.receive(GET % b"1")
    rig.got[0][1].on_gone(lambda: told.append("a"))
    rig.got[0][1].answer(200)
    rig.connection.lost()
    assert told == []


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


def test_one_that_fails_doesn_t_keep_the_news_from_others() -> None:
    rig = Rig()
    told: list[str] = []

    def fail() -> None:
        raise KeyError("a")

    rig.connection.receive(GET % b"1")
    rig.got[0][1].on_gone(fail)
    rig.got[0][1].on_gone(lambda: told.append("a"))
    rig.connection.lost()
    assert told == ["a"]


def test_room_is_told_while_events_are_sent() -> None:
    rig = Rig()
    told: list[str] = []
    rig.connection.receive(GET % b"1")
    responder = rig.got[0][1]
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


def test_finish_closes_an_idle_connection_at_once() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(GET % b"1")
    rig.connection.finish()
    assert rig.sink.calls == ["close"]
    assert rig.connection.closed


def test_finish_lets_a_body_arrive() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(POST % (b"1", 3, b"a"))
    rig.connection.finish()
    assert rig.receive(b"bc") == ok(b"/1", b"connection: close\r\n")
    assert rig.sink.calls == ["close"]


def test_finish_ends_the_connection_behind_events() -> None:
    rig = Rig()
    rig.connection.receive(GET % b"1")
    responder = rig.got[0][1]
    responder.begin_events()
    rig.connection.finish()
    responder.end()
    assert rig.sink.taken().endswith(b"0\r\n\r\n")
    assert rig.sink.calls == ["close"]


def test_stop_ends_answers_properly() -> None:
    rig = Rig()
    told: list[str] = []
    rig.connection.receive(GET % b"1")
    responder = rig.got[0][1]
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
    rig.connection.receive(GET % b"1")
    responder = rig.got[0][1]
    responder.begin_events()
    responder.on_gone(lambda: told.append("events"))
    rig.connection.stop()
    assert rig.sink.taken().endswith(b"\r\n\r\n0\r\n\r\n")
    assert told == ["gone", "events"]
    assert rig.sink.calls == ["close"]


def test_a_connection_that_is_the_last_place_says_so() -> None:
    rig = Rig(at_once=True)
    rig.connection.closing = True
    assert rig.receive(GET % b"1") == ok(b"/1", b"connection: close\r\n")
    assert rig.sink.calls == ["close"]


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
            b"GET /events HTTP/1.1\r\nhost: a\r\n\r\n",
            b"GET /6 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
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
        sink = FakeSink()
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

        connection = HttpConnection(handler, sink, LIMITS, clock=Clock(), date=lambda: b"")
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
            assert connection.wants_data
            assert connection.deadline < float("inf")
        return bytes(sink.written).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""), sink.calls

    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    pieces.append(data[at:])
    assert answers(pieces, late)[0] == answers([data], [False])[0]


def test_a_post_without_a_length_is_411_and_the_last() -> None:
    rig = Rig(at_once=True)
    rig.connection.receive(b"POST /a HTTP/1.1\r\nHost: a\r\n\r\n" + GET % b"b")
    assert rig.sink.taken().startswith(b"HTTP/1.1 411 ")
    assert rig.connection.closed
    assert rig.paths == []


@pytest.mark.parametrize(
    "data",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nContent-Length: 99999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
    ],
)
def test_pages_may_read_refusals_of_requests_that_no_handler_sees(data: bytes) -> None:
    def for_pages(headers: Mapping[str, str]) -> HeaderList:
        return [(b"access-control-allow-origin", headers["origin"].encode())]

    sink = FakeSink()
    connection = HttpConnection(lambda *_: None, sink, LIMITS, for_pages=for_pages)
    connection.receive(data)
    assert b"access-control-allow-origin: http://b\r\n" in sink.taken()
