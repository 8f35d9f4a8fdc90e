"""Requests handed out by path: the server as a whole, and paths that nobody serves."""

from __future__ import annotations

from fake_sink import FakeSink
from longwire.settings import WireLimits
from longwire.wire.http.connection import HttpConnection
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.routes import Routes


def page(_: Request, responder: Responder) -> None:
    responder.answer(200)


def answer(line: bytes) -> bytes:
    sink = FakeSink()
    routes = Routes({"/mcp": page, "/messages/": page}, shown=["/mcp"])
    HttpConnection(routes, sink, WireLimits()).receive(line + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    return sink.taken()


def test_options_of_the_server_as_a_whole() -> None:
    found = answer(b"OPTIONS *")
    assert found.startswith(b"HTTP/1.1 204 ")
    assert b"allow: GET, HEAD, POST, DELETE, OPTIONS\r\n" in found


def test_clients_are_pointed_to_the_paths_that_are_theirs() -> None:
    found = answer(b"GET /mcp/")
    assert found.startswith(b"HTTP/1.1 404 ")
    assert found.endswith(b"there is nothing here: use /mcp\n")
    assert answer(b"GET /messages/").startswith(b"HTTP/1.1 200 ")
