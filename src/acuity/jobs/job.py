"""A job: what it is asked to do, and a snapshot of where it stands.

All of them are plain values, which travel between processes as JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Status: TypeAlias = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Work for a worker process. `task` is a key of acuity.jobs.tasks.TASKS."""

    task: str
    payload: dict[str, Any]  # what JSON can hold
    tool: str  # the tool it was asked through
    title: str  # one line for people
    time_limit: float | None = None  # seconds; None is the service's own limit


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is. `total` is None where nobody knows; `message` is for people."""

    done: float
    total: float | None
    message: str
    details: dict[str, Any] = field(default_factory=dict)  # fps, eta_seconds, mean, queue_position


ProgressListener: TypeAlias = Callable[[Progress], Awaitable[None]]


# Nothing changes any more once a job is in one of these.
OVER: Final[frozenset[Status]] = frozenset({"completed", "failed", "cancelled", "interrupted"})


@dataclass(frozen=True, slots=True)
class Job:
    """What is known about a job. Times are seconds since 1970."""

    id: str
    tool: str
    title: str
    client: str
    status: Status
    created: float
    started: float | None = None
    finished: float | None = None
    progress: Progress | None = None
    error: str | None = None  # one sentence, where it failed, was cancelled or interrupted
    queue_position: int | None = None  # 1 is next; None unless it is queued here

    @property
    def over(self) -> bool:
        return self.status in OVER


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What a job that was waited for has brought."""

    id: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobsStats:
    """Figures for operators. The first three are of this moment, the others count since the start."""

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
    workers_lost: int = 0  # gone without having been asked to
