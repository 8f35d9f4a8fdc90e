"""What operators see of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

WorkerState: TypeAlias = Literal["starting", "ready", "draining", "waiting", "ended"]


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker at one moment."""

    id: str  # its label, such as w1
    state: WorkerState  # waiting: its next start is put off after failures
    socket: str
    pid: int | None  # None: not started here, or not running
    name: str  # as it calls itself in its hello
    in_flight: int
    served: int  # calls since its start
    restarts: int
    since: float  # seconds since 1970, of its start
    problem: str | None = None  # why it is not ready, in a sentence
