"""The nodes of the cluster as operators see them: asked for in the background, because Redis may be slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from acuity.mcp.admin.answers import Document
from acuity.mcp.admin.sources import Sources
from acuity.mcp.runtime.cluster.places import ClusterUnavailable
from acuity.mcp.wire.tasks import Tasks

FRESH: Final = 1.0  # seconds that a list is good for


class KnownNodes:
    """The last list of nodes. Looking at it asks for the next one."""

    def __init__(self, sources: Sources, tasks: Tasks, clock: Callable[[], float] = time.monotonic) -> None:
        self._sources = sources
        self._tasks = tasks
        self._clock = clock
        self._asked = -FRESH
        self._asking = False
        self._rows: list[Document] = []
        self._problem: str | None = None

    def document(self) -> Document | None:
        """The nodes; None where the server is in no cluster."""
        nodes = self._sources.nodes
        if nodes is None:
            return None
        if not self._asking and self._clock() - self._asked >= FRESH:
            self._asking = True
            self._tasks.spawn(self._ask())
        return {"node": nodes.label, "problem": self._problem, "nodes": self._rows}

    async def _ask(self) -> None:
        nodes = self._sources.nodes
        try:
            found = [] if nodes is None else await nodes.statuses()
            here = None if nodes is None else nodes.label
            self._rows = [{**asdict(node), "here": node.label == here} for node in found]
            self._problem = None
        except ClusterUnavailable as error:
            self._problem = str(error)
        finally:
            self._asked, self._asking = self._clock(), False
