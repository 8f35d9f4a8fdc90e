"""The bytes of answers, read back by h11, and requests handed out by path."""

from __future__ import annotations

import h11
import pytest

from fake_connection import FakeConnection
from longwire.settings import WireLimits
from longwire.wire.http import answers
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.routes import Routes


def read_back(data: bytes, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer, as a client reads them."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    head = client.next_event()
    assert isinstance(head, h11.Response)
    body = b""
    while isinstance(event := client.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    return head.status_code, {name.decode(): value.decode() for name, value in head.headers}, body


def test_a_whole_answer() -> None:
    data = answers.whole_answer(200, b"{}", b"application/json", ((b"x", b"y"),), b"date: now\r\n")
    assert read_back(data) == (
        200,
        {"date": "now", "content-type": "application/json", "x": "y", "content-length": "2"},
        b"{}",
    )


@pytest.mark.parametrize(
    ("status", "line"),
    [(202, b"202 Accepted"), (431, b"431 Request Header Fields Too Large"), (299, b"299 ")],
)
def test_status_lines(status: int, line: bytes) -> None:
    data = answers.whole_answer(status, b"", b"", (), b"")
    assert data == b"HTTP/1.1 " + line + b"\r\ncontent-length: 0\r\n\r\n"
    assert read_back(data)[0] == status


@pytest.mark.parametrize("status", [204, 304])
def test_answers_that_have_no_body_tell_no_length(status: int) -> None:
    data = answers.whole_answer(status, b"x", b"text/plain", ((b"x", b"y"),), b"")
    assert read_back(data) == (status, {"x": "y"}, b"")


def test_an_answer_to_head_tells_the_length_of_the_body_that_it_leaves_out() -> None:
    data = answers.whole_answer(200, b"abc", b"text/plain", (), b"", with_body=False)
    assert read_back(data, "HEAD") == (200, {"content-type": "text/plain", "content-length": "3"}, b"")


def test_events_in_chunks() -> None:
    data = answers.events_head(((b"x", b"y"),), answers.CHUNKED)
    for part in (b"a", b"b" * 300, b"\r\n0\r\n\r\n"):
        data += answers.chunk(part)
    status, headers, body = read_back(data + answers.LAST_CHUNK)
    assert status == 200
    assert headers["content-type"] == "text/event-stream"
    assert headers["x"] == "y"
    assert body == b"a" + b"b" * 300 + b"\r\n0\r\n\r\n"


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
