"""The parts of one running server, which the operator's view reads and acts on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from longwire.cluster.nodes import Nodes
from longwire.counters import RuntimeCounters
from longwire.http_runtime import HttpRuntime
from longwire.operations.metrics import Metrics
from longwire.principals.limits import CallLimits
from longwire.sessions.session import Session
from longwire.settings import Settings
from longwire.work import Jobs
from longwire.workers.pool import WorkerPool


@dataclass(slots=True)
class Sources:
    """One running server. A part that it doesn't have, or not yet, is None."""

    settings: Settings
    metrics: Metrics
    limits: CallLimits
    jobs: Jobs
    problem: Callable[[], str | None] = lambda: None  # why no work is taken
    runtime: HttpRuntime | None = None
    clock: Callable[[], float] = time.time
    started: float = field(default_factory=time.time)  # seconds since 1970

    def use(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def sessions(self) -> Iterable[Session]:
        return () if self.runtime is None else self.runtime.sessions

    @property
    def counters(self) -> RuntimeCounters:
        return RuntimeCounters() if self.runtime is None else self.runtime.counters

    @property
    def workers(self) -> WorkerPool | None:
        """The workers that run the methods; None: this process runs them."""
        return None if self.runtime is None else self.runtime.workers

    @property
    def nodes(self) -> Nodes | None:
        """The cluster, if this server is in one."""
        return None if self.runtime is None else self.runtime.nodes
