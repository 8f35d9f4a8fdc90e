"""Answers of a connection without I/O: events, headers, clients that go, room for more."""

from __future__ import annotations

import weakref

from http_rig import GET, OLD, Rig


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
