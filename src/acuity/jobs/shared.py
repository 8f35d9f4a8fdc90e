"""What a job service needs to know the jobs of other nodes; mcp/standalone/node_jobs.py is it over Redis."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Protocol

from acuity.jobs.job import Job


class SharedJobs(Protocol):
    """The jobs of a cluster. Methods that wait raise JobError if the nodes' shared store doesn't answer."""

    node: str  # this node's label: ids of its jobs begin with it and a hyphen

    def begin(self, on_cancel: Callable[[str], None], on_change: Callable[[Job], None]) -> None:
        """Follow the other nodes: calls back for jobs that they cancel, and for changes of their jobs."""
        ...

    async def end(self) -> None:
        """Tell what there is still to tell, and follow no longer. May be called again."""
        ...

    def tell(self, job: Job, document: str | None = None) -> None:
        """Let other nodes know a job of this process, and its result; nothing waits."""
        ...

    async def told(self, id: str) -> None:
        """Wait until other nodes know a job of this process, for a moment at most."""
        ...

    async def get(self, id: str) -> Job | None:
        """A job of another node; one whose process is dead is interrupted."""
        ...

    async def document(self, id: str) -> str | None:
        """The result of a job of another node as JSON text."""
        ...

    async def list(self) -> builtins.list[Job]:
        """The newest jobs of other nodes, newest first."""
        ...

    def cancel(self, id: str) -> None:
        """Ask the node that has a job to end it; nothing waits."""
        ...
