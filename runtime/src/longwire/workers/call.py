"""A call on its way to a worker: its envelope, the methods that take its answers, and kinds of failures."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from longwire.contract.envelopes import ERROR_CLASSES, ErrorClass, Result
from longwire.principals.limits import RETRY_AFTER, UNAVAILABLE
from longwire.text import shortened

_LONGEST: Final = 300  # characters of a worker's sentence
_LATER: Final[frozenset[str]] = frozenset({"worker_queue_full", "worker_queue_timeout"})
_RETRY_SECONDS: Final = 2


class WorkerFailure(NamedTuple):
    """Why a call has no reply."""

    error_class: ErrorClass
    sentence: str  # for the client: nothing in it is of this machine
    detail: str | None = None  # for the log and operators, if there is more to say

    @property
    def logged(self) -> str:
        return self.detail or self.sentence

    def error(self) -> MCPError:
        """The error for the client."""
        data: dict[str, object] = {"errorClass": self.error_class}
        if self.error_class in _LATER:
            return MCPError(UNAVAILABLE, self.sentence, {**data, RETRY_AFTER: _RETRY_SECONDS})
        return MCPError(INTERNAL_ERROR, shortened(self.sentence, _LONGEST), data)


def told_by_worker(error_class: str, sentence: str) -> WorkerFailure:
    """The failure that a worker reports itself; a class that there isn't counts as its code's failure."""
    ours = (name for name in ERROR_CLASSES if name == error_class)
    known: ErrorClass = next(ours, "worker_runtime_error")
    return WorkerFailure(known, sentence or "the worker failed, and said nothing more")


Outcome: TypeAlias = Result | WorkerFailure


class Carrier(Protocol):
    """The link that a call was sent on, as the call and its maker see it."""

    label: str

    def withdraw(self, call: WorkerCall, reason: str) -> None: ...
    def respond(self, call: WorkerCall, jsonrpc: bytes) -> None: ...
    def hold(self) -> None: ...
    def release(self) -> None: ...


class WorkerCall:
    """One request or notification of a client, as the pool and its links see it.

    This one is a notification: nobody waits for its outcome.
    """

    __slots__ = ("began", "endless", "jsonrpc", "link", "link_id", "members", "session_id")

    def __init__(self) -> None:
        self.members = b""  # of the envelope; see contract/writing.py
        self.jsonrpc = b""
        self.session_id: str | None = None
        self.endless = False  # it ends with its client, and takes as long as that does
        self.began = 0.0  # by the loop's clock: when it was queued, then when it was sent
        self.link: Carrier | None = None  # the link that it was sent on
        self.link_id = ""  # its id there

    def came(self, messages: list[dict[str, Any]]) -> None:
        """Take messages to the client, which the worker sent while it works.

        One may be `{"close": "call"}` or `{"close": "get"}`, in its place among the others: the end of a
        connection.
        """

    def ended(self, outcome: Outcome) -> None:
        """Take the outcome. Nothing comes after it."""


class OwnCall(WorkerCall):
    """A request that the runtime makes itself."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        super().__init__()
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def ended(self, outcome: Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)
