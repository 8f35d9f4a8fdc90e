"""A call on its way to a worker: what is sent, and who is told what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from longwire.contract.envelopes import Result
from longwire.workers.failures import WorkerFailure

if TYPE_CHECKING:
    from longwire.workers.link import Link

Outcome: TypeAlias = Result | WorkerFailure


class WorkerCall:
    """One request or notification of a client, as the pool and its links see it."""

    __slots__ = ("began", "endless", "jsonrpc", "link", "link_id", "members", "session_id")

    def __init__(self) -> None:
        self.members = b""  # of the envelope; see contract/writing.py
        self.jsonrpc = b""
        self.session_id: str | None = None
        self.endless = False  # it ends with its client, and takes as long as that does
        self.began = 0.0  # by the loop's clock: when it was queued, then when it was sent
        self.link: Link | None = None  # that it was sent on
        self.link_id = ""  # its id there

    def came(self, messages: list[dict[str, Any]]) -> None:
        """Take messages to the client, which the worker sent while it works.

        One may be `{"close": "call"}` or `{"close": "get"}`, in its place among the others: the end of a
        connection.
        """
        raise NotImplementedError

    def ended(self, outcome: Outcome) -> None:
        """Take the outcome. Nothing comes after it."""
        raise NotImplementedError


class NoticeCall(WorkerCall):
    """A client's notification: nobody waits for its outcome."""

    __slots__ = ()

    def came(self, messages: list[dict[str, Any]]) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        pass
