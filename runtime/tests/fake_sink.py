"""A transport that remembers what a connection does with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class FakeSink:
    """Takes the calls of an HttpConnection; a test runs the functions that are due with `turn()`."""

    written: bytearray = field(default_factory=bytearray)
    due: list[Callable[[], None]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)  # other than writes
    unsent: int = 0

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
