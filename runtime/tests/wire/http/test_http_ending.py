"""The end of a connection without I/O: deadlines, finishing and stopping."""

from __future__ import annotations

import pytest
from http_rig import GET, LIMITS, POST, Rig, ok


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
