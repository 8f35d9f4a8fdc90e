"""What a job is, before and while it runs: plain values that travel between processes as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

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
