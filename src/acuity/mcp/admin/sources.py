"""What the operator's view reads and acts on: the parts of one running server."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from acuity.jobs.job import Job, JobsStats, Status
from acuity.mcp.limits import CallLimits
from acuity.mcp.operations.metrics import Metrics
from acuity.mcp.runtime.http_runtime import HttpRuntime
from acuity.mcp.runtime.workers.status import Workers
from acuity.mcp.settings import Settings


class ListedJobs(Protocol):
    """The part of the job service that operators see."""

    def stats(self) -> JobsStats: ...

    async def list(
        self, statuses: Collection[Status] = (), limit: int = 100, client: str | None = None
    ) -> tuple[list[Job], bool]: ...


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node of the cluster as this one sees it."""

    node: str  # its label
    address: str
    alive: bool
    here: bool = False  # it is this process


@dataclass(slots=True)
class Sources:
    """One running server. What it has not is None: workers, nodes, or an HTTP runtime before it listens."""

    settings: Settings
    metrics: Metrics
    limits: CallLimits
    jobs: ListedJobs
    ready: Callable[[], bool] = lambda: True
    runtime: HttpRuntime | None = None
    workers: Workers | None = None
    nodes: Callable[[], Sequence[NodeStatus]] | None = None
    clock: Callable[[], float] = time.time
    started: float = field(default_factory=time.time)  # seconds since 1970
