"""The nodes of the cluster as operators see them: what Redis said a moment ago, or that it can't be asked.

Whoever asks for the document waits for a list that is fresh, for a bounded time. The feed of the page doesn't
wait: looking at the list asks for the next one, and one that is too old shows no state.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from acuity.mcp.admin.answers import Document
from acuity.mcp.admin.sources import ListedNodes, Sources
from acuity.mcp.runtime.cluster.nodes import LEASE, NodeStatus
from acuity.mcp.runtime.cluster.places import ClusterUnavailable
from acuity.mcp.wire.tasks import Tasks

FRESH: Final = 0.5  # seconds in which nobody asks again
OLD: Final = LEASE + 1.0  # seconds after which a list says nothing: a lease, and the time between two looks
_MOST: Final = 1.5  # seconds for an answer
_SILENT: Final = "Redis has not said yet which nodes live"


class KnownNodes:
    """The last list of nodes. Looking at it asks for the next one."""

    def __init__(self, sources: Sources, tasks: Tasks, clock: Callable[[], float] = time.monotonic) -> None:
        self._sources = sources
        self._tasks = tasks
        self._clock = clock
        self._asked = -FRESH
        self._answered = -OLD
        self._asking: asyncio.Future[None] | None = None
        self._found: list[NodeStatus] = []
        self._failed = False  # the last question had no answer

    def document(self) -> Document | None:
        """The nodes; None where the server is in no cluster."""
        nodes = self._sources.nodes
        if nodes is None:
            return None
        self._ask()
        known = not self._failed and self._clock() - self._answered < OLD
        problem = nodes.problem or (None if known else _SILENT)
        rows = [_row(node, nodes.label, known and nodes.problem is None) for node in self._found]
        return {"node": nodes.label, "problem": problem, "nodes": rows}

    async def fresh(self) -> None:
        """Wait for a new list, or until it is plain that none comes."""
        if self._sources.nodes is not None and (asking := self._ask()) is not None:
            await asyncio.wait([asking], timeout=_MOST)

    def _ask(self) -> asyncio.Future[None] | None:
        """The question that is under way; None: the list is fresh."""
        nodes = self._sources.nodes
        if self._asking is None and nodes is not None and self._clock() - self._asked >= FRESH:
            self._asked = self._clock()
            self._asking = asyncio.get_running_loop().create_future()
            self._tasks.spawn(self._answer(nodes, self._asking))
        return self._asking

    async def _answer(self, nodes: ListedNodes, asking: asyncio.Future[None]) -> None:
        try:
            async with asyncio.timeout(_MOST):
                self._found = await nodes.statuses()
            self._failed, self._answered = False, self._clock()
        except (ClusterUnavailable, TimeoutError):
            self._failed = True
        finally:
            self._asking = None
            if not asking.done():
                asking.set_result(None)


def _row(node: NodeStatus, here: str, known: bool) -> Document:
    """A node. One without a lease may live where leases can't be renewed; this one answers, so it lives."""
    alive = True if node.label == here else node.alive if known else None
    state = {True: "alive", False: "gone", None: "unknown"}[alive]
    return {**asdict(node), "alive": alive, "state": state, "here": node.label == here}
