"""A Responder that keeps what it is given, for a client that reads, stops reading, or goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from longwire.wire.http.request import HeaderList
from waiting import until


class ServerEvent(NamedTuple):
    """One server-sent event as a client understands it."""

    id: str
    data: str
    retry: int | None = None


class FakeResponder:
    """Where an answer is written. A client that is `reading` takes everything at once.

    Each byte that was not read counts as `weight` bytes, so that a short text can fill the client.
    """

    def __init__(self, *, reading: bool = True, weight: int = 1) -> None:
        self.reading = reading
        self.weight = weight
        self.status: int | None = None
        self.body = b""
        self.kind = b""
        self.headers: dict[bytes, bytes] = {}
        self.text = b""  # events that were written
        self.taken = 0  # bytes of them that the client has read
        self.began = False
        self.ended = False  # as it should
        self.dropped = False  # by the client
        self._on_gone: list[Callable[[], None]] = []
        self._on_room: list[Callable[[], None]] = []

    # The server's side.

    @property
    def gone(self) -> bool:
        return self.ended or self.dropped

    @property
    def unsent(self) -> int:
        return self.weight * (len(self.text) - self.taken)

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        assert self.status is None, "answered twice"
        self.status, self.body, self.kind, self.headers = status, body, kind, dict(headers)
        self.ended = True

    def begin_events(self, headers: HeaderList = ()) -> None:
        assert self.status is None, "answered twice"
        self.status, self.kind, self.headers = 200, b"text/event-stream", dict(headers)
        self.began = True

    def send(self, events: bytes) -> None:
        assert not self.ended, "written after the end"
        assert events.endswith(b"\n\n"), "an event that is not complete"
        if not self.dropped:
            self.text += events
            if self.reading:
                self.taken = len(self.text)

    def end(self) -> None:
        assert not self.ended, "ended twice"
        self.ended = True

    def on_gone(self, callback: Callable[[], None]) -> None:
        self._on_gone.append(callback)

    def on_room(self, callback: Callable[[], None]) -> None:
        self._on_room.append(callback)

    # The client's side.

    def stall(self) -> None:
        """Read nothing from now on."""
        self.reading = False

    def read(self) -> None:
        """Read all that was written, and what follows."""
        self.reading = True
        self.taken = len(self.text)
        for callback in list(self._on_room):
            callback()

    def drop(self) -> None:
        """Disconnect. What was not read is lost."""
        if not self.gone:
            self.dropped = True
            for callback in self._on_gone:
                callback()

    async def over(self) -> FakeResponder:
        """This, once its answer is complete or its client has gone."""
        await until(lambda: self.gone)
        return self

    @property
    def events(self) -> list[ServerEvent]:
        """The events that the client has read, without comments."""
        return parse_events(self.text[: self.taken])

    @property
    def written(self) -> list[str]:
        """The data of the events that were written, read or not."""
        return [event.data for event in parse_events(self.text) if event.data]

    @property
    def messages(self) -> list[str]:
        """The data of the events that have any."""
        return [event.data for event in self.events if event.data]

    @property
    def last_id(self) -> str:
        return self.events[-1].id


def parse_events(text: bytes) -> list[ServerEvent]:
    """The complete events of a text."""
    found = []
    for block in text.decode().split("\n\n")[:-1]:
        fields: dict[str, Any] = dict(
            line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")
        )
        if fields:
            retry = int(fields["retry"]) if "retry" in fields else None
            found.append(ServerEvent(fields.get("id", ""), fields.get("data", ""), retry))
    return found


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
