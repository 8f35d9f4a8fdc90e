"""Log lines of tool calls: bad news at once, good news a moment later and together.

A line written between two calls costs them several times what it costs right after another line, because
nothing of what makes lines is in the processor's caches then. Lines that wait keep the time of their call.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from typing import Any, Final, NamedTuple

CALLS: Final = logging.getLogger("acuity.mcp.calls")

_DELAY: Final = 0.1  # seconds that a line may wait for others


class EndedCall(NamedTuple):
    level: int
    tool: str
    client: str
    outcome: str
    seconds: float
    error: str | None  # the sentence of a call that failed
    ended: float  # seconds since 1970


class CallLines:
    """The lines of one server."""

    def __init__(self) -> None:
        self._waiting: list[EndedCall] = []
        self._timer: asyncio.TimerHandle | None = None
        weakref.finalize(self, _write, self._waiting)  # those that wait when the process ends

    def add(self, call: EndedCall) -> None:
        self._waiting.append(call)
        if call.outcome != "ok":
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_DELAY, self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        _write(self._waiting)


def _write(waiting: list[EndedCall]) -> None:
    for call in waiting:
        CALLS.handle(_record(call))
    waiting.clear()


def _record(call: EndedCall) -> logging.LogRecord:
    fields: dict[str, Any] = {
        "tool": call.tool,
        "client": call.client,
        "outcome": call.outcome,
        "seconds": round(call.seconds, 6),
    }
    if call.error is not None:
        fields["error"] = call.error
    words = (call.tool, call.outcome, 1000 * call.seconds)
    record = CALLS.makeRecord(
        CALLS.name, call.level, __file__, 0, "%s %s in %.1f ms", words, None, extra=fields
    )
    record.created = call.ended
    return record
