"""One HTTP request, read whole, and the place where its answer is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from itertools import count
from secrets import token_hex
from typing import Any, Final, Protocol, TypeAlias

from longwire.principals.principal import Principal

HeaderList: TypeAlias = Collection[tuple[bytes, bytes]]
Answer: TypeAlias = tuple[int, bytes, bytes, HeaderList]  # status, body, its content type, further headers

REQUEST_ID: Final = "x-request-id"
_ID: Final = re.compile(r"[A-Za-z0-9._:/+=@~-]{1,128}")
_PROCESS: Final = token_hex(6)
_NUMBERS: Final = count(1)
# The id of the request that is being answered, for log lines; set for everything that it starts.
CURRENT_ID: Final[ContextVar[str | None]] = ContextVar("longwire_request_id", default=None)


def request_id(headers: Mapping[str, str]) -> str:
    """The id of a request: its own, if that can go into headers, logs and frames as it is, or a new one."""
    given = headers.get(REQUEST_ID)
    valid = given is not None and _ID.fullmatch(given) is not None
    return f"{_PROCESS}-{next(_NUMBERS):x}" if given is None or not valid else given


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
        "charge",
        "client",
        "headers",
        "id",
        "method",
        "on_refused",
        "path",
        "peer",
        "principal",
        "query",
        "repeated",
        "session",
        "session_id",
        "spanned",
        "worker",
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
        self.id = request_id(self.headers)
        self.address = address  # of the client, without the port
        self.peer = peer  # with the port: one connection
        self.principal = principal or Principal.of_address(address)  # replaced where a token proves another
        self.session_id: str | None = None  # of an existing session of this principal; set by the runtime
        self.session: SessionState | None = None  # of the same; for handlers
        self.client = f"post:{peer}"  # for limits, logs and the fair queue; set by the runtime
        self.worker: str | None = None  # that ran it; set by the runtime
        self.spanned = False  # whether it has a span of its own, if anything is traced
        # Counts a request that is refused with a status from 400 to 499 before it counts as a call, and may
        # have another answer for it; set by the runtime.
        self.charge: Callable[[Request], Answer | None] | None = None
        # Is told of an answer with a status from 400 on, and its body; set by the checks.
        self.on_refused: Callable[[Request, int, bytes], None] | None = None


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
