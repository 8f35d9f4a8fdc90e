"""What a connection without I/O refuses, and when: bodies, bad bytes, checks and handlers that fail."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from http_rig import GET, LIMITS, POST, Rig, ok

from fake_sink import FakeSink
from longwire.wire.http.connection import HttpConnection
from longwire.wire.http.request import HeaderList, Request, Responder


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
