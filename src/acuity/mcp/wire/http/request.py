"""One HTTP request, read whole, and the place where its answer is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeAlias

from acuity.mcp.principal import Principal

HeaderList: TypeAlias = Collection[tuple[bytes, bytes]]


class SessionState(Protocol):
    """What a session remembers, for handlers: it outlives a restart if the server's store does."""

    @property
    def state(self) -> Mapping[str, Any]: ...

    def set_state(self, name: str, value: Any) -> None:
        """Set a value of JSON; None removes it."""
        ...


class Request:
    """A request whose head and body have arrived. Made by the parser; the checks add who sent it."""

    __slots__ = (
        "address",
        "body",
        "client",
        "headers",
        "method",
        "path",
        "peer",
        "principal",
        "query",
        "repeated",
        "session",
        "session_id",
    )

    def __init__(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        repeated: Collection[str] = (),
        body: bytes = b"",
        address: str = "127.0.0.1",
        peer: str = "127.0.0.1:0",
        principal: Principal | None = None,
    ) -> None:
        self.method = method  # as sent, usually in capitals
        self.path = path  # as sent, without the query
        self.query = query
        self.headers = headers or {}  # names in lower case, values without blanks around them
        self.repeated = repeated  # the names that came more than once; `headers` has the first value
        self.body = body
        self.address = address  # of the client, without the port
        self.peer = peer  # with the port: one connection
        self.principal = principal or Principal.of_address(address)  # replaced where a token proves another
        self.session_id: str | None = None  # of an existing session of this principal; set by the runtime
        self.session: SessionState | None = None  # of the same; for handlers
        self.client = f"post:{peer}"  # for limits, logs and the fair queue; set by the runtime


class Responder(Protocol):
    """Where the answer to one request is written. Nothing here waits, or raises when the client has gone.

    Either `answer()` once, or `begin_events()`, any number of `send()` and `end()`.
    """

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected, or the answer was ended."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes of this answer that the client has not taken yet."""
        ...

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        """Write a whole answer; `kind` is its content type."""
        ...

    def begin_events(self, headers: HeaderList = ()) -> None:
        """Begin an answer of server-sent events, with status 200."""
        ...

    def send(self, events: bytes) -> None:
        """Write events, which are complete as they are."""
        ...

    def end(self) -> None:
        """End an answer of events."""
        ...

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Have a function called once if the client disconnects before the answer has ended."""
        ...

    def on_room(self, callback: Callable[[], None]) -> None:
        """Have a function called whenever unsent bytes have been taken and there is room for more."""
        ...


# Answers a request: at once, or later from a task that it starts.
Handler: TypeAlias = Callable[[Request, Responder], None]
