"""A connection without I/O whose requests a test answers."""

from __future__ import annotations

from collections.abc import Callable

from fake_connection import FakeConnection
from fake_responder import FakeClock
from longwire.settings import WireLimits
from longwire.wire.http.request import Request, Responder

GET = b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n"
POST = b"POST /%b HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b"
NEW = b"GET / HTTP/1.1\r\nhost: a\r\n%b\r\n"
OLD = b"GET / HTTP/1.0\r\n%b\r\n"
LIMITS = WireLimits(max_message=1000)


class Rig:
    """A connection with a handler that keeps requests until the test answers them."""

    def __init__(self, *, at_once: bool = False, admit: Callable[[Request, Responder], bool] | None = None):
        self.clock = FakeClock()
        self.got: list[tuple[Request, Responder]] = []
        self.at_once = at_once
        self.connection = self.sink = FakeConnection(
            self.handle, LIMITS, admit=admit or (lambda *_: True), clock=self.clock
        )

    def handle(self, request: Request, responder: Responder) -> None:
        self.got.append((request, responder))
        if self.at_once:
            responder.answer(200, request.path.encode())

    def receive(self, data: bytes) -> bytes:
        self.connection.receive(data)
        return self.sink.taken()

    def asked(self, data: bytes) -> Responder:
        """The responder of the last of these requests."""
        self.connection.receive(data)
        return self.got[-1][1]

    @property
    def paths(self) -> list[str]:
        return [request.path for request, _ in self.got]


def ok(body: bytes, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (extra, len(body), body)
