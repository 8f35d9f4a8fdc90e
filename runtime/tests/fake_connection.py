"""An HTTP connection without a socket, which remembers what it would do with one."""

from __future__ import annotations

import time
from collections.abc import Callable

from longwire.settings import WireLimits
from longwire.wire.http.connection import Admission, HttpConnection, PageHeaders
from longwire.wire.http.request import Handler, Request, Responder


class FakeConnection(HttpConnection):
    """A connection whose functions that are due a test runs with `turn()`."""

    def __init__(
        self,
        handler: Handler,
        limits: WireLimits,
        *,
        admit: Admission = lambda *_: True,
        clock: Callable[[], float] = time.monotonic,
        for_pages: PageHeaders | None = None,
    ) -> None:
        super().__init__(limits, "10.0.0.9", "10.0.0.9:1234", clock, for_pages=for_pages)
        self._handler, self._admit = handler, admit
        self.written = bytearray()
        self.due: list[Callable[[], None]] = []
        self.calls: list[str] = []  # other than writes
        self.unsent = 0

    def handle(self, request: Request, responder: Responder) -> None:
        self._handler(request, responder)

    def admits(self, request: Request, responder: Responder) -> bool:
        return self._admit(request, responder)

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def end_writing(self) -> None:
        self.calls.append("end")

    def close(self) -> None:
        self.calls.append("close")

    def soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def turn(self) -> None:
        """One turn of the event loop."""
        due, self.due = self.due, []
        for callback in due:
            callback()

    def taken(self) -> bytes:
        """What was written since the last time, without the lines of the date and of the request's id."""
        data = bytes(self.written)
        self.written.clear()
        lines = data.split(b"\r\n")
        return b"\r\n".join(line for line in lines if not line.startswith((b"date: ", b"x-request-id: ")))
