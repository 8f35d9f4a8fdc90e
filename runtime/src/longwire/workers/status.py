"""What operators see of workers, and what they may do to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

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


class Workers(Protocol):
    """The workers of one server."""

    def statuses(self) -> Sequence[WorkerStatus]: ...

    @property
    def queued(self) -> int:
        """Calls that wait for a worker."""
        ...

    def drain(self, worker_id: str) -> bool:
        """Let a worker finish what it runs, end it and start another; False: there is none of that id."""
        ...

    def restart(self, worker_id: str) -> bool:
        """End a worker at once, with what it runs, and start another; False: there is none of that id."""
        ...
