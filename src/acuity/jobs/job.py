"""A job's progress listener and outcome; its other records are the runtime's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from longwire.work import OVER, Job, JobSpec, JobsStats, Progress, Status, new_id

__all__ = [
    "OVER",
    "Job",
    "JobOutcome",
    "JobSpec",
    "JobsStats",
    "Progress",
    "ProgressListener",
    "Status",
    "new_id",
]

ProgressListener: TypeAlias = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The result of a completed job."""

    id: str
    document: dict[str, Any]
