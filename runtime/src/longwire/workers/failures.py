"""Calls that workers did not answer as they should: the class of each, and the error that its client gets."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from longwire.contract.error_classes import ERROR_CLASSES, ErrorClass
from longwire.principals.limits import RETRY_AFTER, UNAVAILABLE
from longwire.text import shortened

logger: Final = logging.getLogger(__name__)

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
        """What the client is told."""
        data: dict[str, object] = {"errorClass": self.error_class}
        if self.error_class in _LATER:
            return MCPError(UNAVAILABLE, self.sentence, {**data, RETRY_AFTER: _RETRY_SECONDS})
        return MCPError(INTERNAL_ERROR, shortened(self.sentence, _LONGEST), data)


def told_by_worker(error_class: str, sentence: str) -> WorkerFailure:
    """The failure that a worker reports itself; a class that there isn't counts as its code's failure."""
    known: ErrorClass = "worker_runtime_error"
    for name in ERROR_CLASSES:
        if name == error_class:
            known = name
    return WorkerFailure(known, sentence or "the worker failed, and said nothing more")
