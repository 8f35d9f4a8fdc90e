"""Long work that a product does in jobs: the records of a job, and the service that runs it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

Status: TypeAlias = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]

# The statuses of finished jobs, which never change again.
OVER: Final[frozenset[Status]] = frozenset({"completed", "failed", "cancelled", "interrupted"})


def new_id() -> str:
    """An id for a job; random, so that it can't be guessed."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The specification of a job. `task` names what the product can do."""

    task: str
    payload: dict[str, Any]  # JSON values only
    tool: str  # the tool that was called
    title: str  # one line for people
    time_limit: float | None = None  # seconds; None: the service's limit
    id: str | None = None  # for tools that name files by it; None: the service makes one with new_id()
    short: bool = False  # probably done in seconds: may take the place for short work


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a job. `total` is None if unknown; `message` is for people."""

    done: float
    total: float | None
    message: str
    details: dict[str, Any] = field(default_factory=dict)  # such as queue_position
    at: float = field(default_factory=time.time, compare=False)  # when the server learned of it


@dataclass(frozen=True, slots=True)
class Job:
    """A snapshot of a job. Times are seconds since 1970."""

    id: str
    tool: str
    title: str
    client: str
    status: Status
    created: float
    started: float | None = None
    finished: float | None = None
    progress: Progress | None = None
    error: str | None = None  # one sentence, if it failed, was cancelled or interrupted
    queue_position: int | None = None  # 1 is next; None unless it waits in this server's queue

    @property
    def over(self) -> bool:
        return self.status in OVER

    @property
    def changed(self) -> float:
        """When it came to its status."""
        return self.finished or self.started or self.created


@dataclass(frozen=True, slots=True)
class JobsStats:
    """Figures for operators. The first three are current, the others count since the start."""

    queued: int
    running: int
    workers: int  # processes alive, idle ones included
    submitted: int = 0
    completed: int = 0
    failed: int = 0  # timeouts and lost workers included
    cancelled: int = 0
    interrupted: int = 0
    timeouts: int = 0
    workers_started: int = 0
    workers_lost: int = 0  # ended without being asked to


class Jobs(Protocol):
    """The part of a product's job service that the runtime uses; here, of one that runs nothing."""

    def stats(self) -> JobsStats:
        return JobsStats(0, 0, 0)

    async def list(
        self, statuses: Collection[Status] = (), limit: int = 100, client: str | None = None
    ) -> tuple[list[Job], bool]:
        """The newest jobs, and whether there are more."""
        return [], False

    def on_change(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        """Tell the listener of each change; returns a function that stops this."""
        return lambda: None

    async def stop(self, grace: float) -> None:
        """End what runs, within that many seconds."""


class NoJobs(Jobs):
    """The job service of a product that has none."""

    async def stop(self, grace: float) -> None:
        """Do nothing: nothing runs."""
