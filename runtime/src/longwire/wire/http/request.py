"""One HTTP request, read whole, and the place where its answer is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
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
    given = headers.get(REQUEST_ID, "")
    return given if _ID.fullmatch(given) else f"{_PROCESS}-{next(_NUMBERS):x}"


class SessionState(Protocol):
    """The state of a session, for handlers: it outlives a restart if the server's store does."""

    @property
    def state(self) -> Mapping[str, Any]: ...

    def set_state(self, name: str, value: Any) -> None:
        """Set a value of JSON; None removes it."""


_NOBODY: Final = Principal("")  # stands for the client's address


@dataclass(slots=True, eq=False)
class Request:
    """A request whose head and body have arrived. Made by the parser; the checks add who sent it."""

    method: str  # as sent, usually in capitals
    path: str  # as sent, without the query
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case, values without blanks
    repeated: Collection[str] = ()  # the names that came more than once; `headers` has the first value
    body: bytes = b""
    address: str = "127.0.0.1"  # of the client, without the port
    peer: str = "127.0.0.1:0"  # with the port: one connection
    principal: Principal = _NOBODY  # replaced where a token proves another
    id: str = field(init=False)
    client: str = field(init=False)  # for limits, logs and the fair queue; set by the runtime
    session_id: str | None = None  # of an existing session of this principal; set by the runtime
    session: SessionState | None = None  # of the same; for handlers
    worker: str | None = None  # the worker that ran it; set by the runtime
    answer_headers: HeaderList = ()  # headers that every answer to it has; set by the checks
    spanned: bool = False  # whether it has a span of its own, if anything is traced
    # Counts a request that is refused with a status from 400 to 499 before it counts as a call, and may have
    # another answer for it; set by the runtime.
    charge: Callable[[Request], Answer | None] | None = None
    # Is told of an answer with a status from 400 on, and its body; set by the checks.
    on_refused: Callable[[Request, int, bytes], None] | None = None

    def __post_init__(self) -> None:
        self.id = request_id(self.headers)
        self.client = f"post:{self.peer}"
        if self.principal is _NOBODY:
            self.principal = Principal.of_address(self.address)


class Responder(Protocol):
    """Writes the answer to one request. Nothing here waits, or raises when the client has gone.

    Either `answer()` once, or `begin_events()`, any number of `send()` and `end()`.
    """

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected, or the answer was ended."""

    @property
    def unsent(self) -> int:
        """Bytes of this answer that the client has not taken yet."""

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        """Write a whole answer; `kind` is its content type."""

    def begin_events(self, headers: HeaderList = ()) -> None:
        """Begin an answer of server-sent events, with status 200."""

    def send(self, events: bytes) -> None:
        """Write events, which are complete as they are."""

    def end(self) -> None:
        """End an answer of events."""

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Have a function called once if the client disconnects before the answer has ended."""

    def on_room(self, callback: Callable[[], None]) -> None:
        """Have a function called whenever unsent bytes have been taken and there is room for more."""


# Answers a request: at once, or later from a task that it starts.
Handler: TypeAlias = Callable[[Request, Responder], None]
