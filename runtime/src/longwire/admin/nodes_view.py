"""The nodes of the cluster as operators see them: Redis's list of a moment ago, and each node's own figures.

A request for the document waits for a fresh list, for a bounded time. The page's feed doesn't wait: reading
the list asks Redis for the next one, and a list that is too old shows no state. The list is also read with
each point of the history, so that the nodes are known when Redis goes away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from longwire.admin.queries import Document
from longwire.admin.sources import Sources
from longwire.cluster.nodes import LEASE, Nodes, NodeStatus
from longwire.errors import ClusterUnavailable
from longwire.foreign_json import parse_json
from longwire.principals.principal import Principal
from longwire.wire.http.request import HeaderList, Request
from longwire.wire.tasks import RunningTasks

RUNTIME: Final = "/admin/runtime"
FRESH: Final = 0.5  # seconds in which nobody asks again
OLD: Final = LEASE + 1.0  # seconds after which a list says nothing: a lease, and the time between two looks
_MOST: Final = 1.5  # seconds for an answer
_SILENT: Final = "Redis has not said yet which nodes live"
_OPERATOR: Final = Principal("operator")


class KnownNodes:
    """The last list of nodes. Looking at it asks for the next one."""

    def __init__(
        self, sources: Sources, tasks: RunningTasks, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sources = sources
        self._tasks = tasks
        self._clock = clock
        self._asked = -FRESH
        self._answered = -OLD
        self._asking: asyncio.Task[None] | None = None
        self._found: list[NodeStatus] = []
        self._failed = False  # the last question had no answer
        self._others: Mapping[str, Document] = {}  # what they said of themselves, by label

    @property
    def here(self) -> str | None:
        """The label of this node; None where the server is in no cluster."""
        nodes = self._sources.nodes
        return None if nodes is None else nodes.label

    def document(self) -> Document | None:
        """The nodes; None where the server is in no cluster."""
        nodes = self._sources.nodes
        if nodes is None:
            return None
        self._ask()
        known = not self._failed and self._clock() - self._answered < OLD
        problem = nodes.problem or (None if known else _SILENT)
        listed = self._found or [NodeStatus(nodes.label, True)]  # this one answers
        rows = [_row(node, nodes.label, known and nodes.problem is None) for node in listed]
        age = round(self._clock() - self._answered, 3) if self._found else None
        living = {node.label for node in self._living()}
        others = {label: said for label, said in self._others.items() if label in living}
        return {"node": nodes.label, "problem": problem, "nodes": rows, "age_seconds": age, "others": others}

    async def fresh(self) -> None:
        """Wait for a new list, or until it is plain that none comes."""
        if self._sources.nodes is not None and (asking := self._ask()) is not None:
            await asyncio.wait([asking], timeout=_MOST)

    async def ask_others(self, path: str, query: str) -> dict[str, Document]:
        """Other living nodes' documents at a path, by label; {"problem": …} for a node that doesn't answer.

        They are asked at the port for other nodes, all at once, for a bounded time.
        """
        living = self._living()
        found = await asyncio.gather(*(self._ask_node(node, path, query) for node in living))
        return {node.label: said for node, said in zip(living, found, strict=True)}

    def _living(self) -> list[NodeStatus]:
        """The other nodes that live."""
        return [node for node in self._found if node.alive and node.label != self.here]

    async def _ask_node(self, node: NodeStatus, path: str, query: str) -> Document:
        runtime = self._sources.runtime
        if runtime is None or runtime.forwarder is None:
            return {"problem": "this node asks no others"}
        request = Request("GET", path, query=query, principal=_OPERATOR)
        taken = _Taken()
        try:
            async with asyncio.timeout(_MOST):
                await runtime.forwarder.pass_on(request, taken, node)
            document = parse_json(taken.body) if taken.status == 200 else None
        except (TimeoutError, ValueError):
            document = None
        if isinstance(document, dict):
            return document
        return {"problem": f"the node '{node.label}' doesn't say: set [admin] listen there, or see its log"}

    def _ask(self) -> asyncio.Task[None] | None:
        """The question that is under way; None: the list is fresh."""
        nodes = self._sources.nodes
        if self._asking is None and nodes is not None and self._clock() - self._asked >= FRESH:
            self._asked = self._clock()
            self._asking = self._tasks.spawn(self._answer(nodes))
        return self._asking

    async def _answer(self, nodes: Nodes) -> None:
        try:
            async with asyncio.timeout(_MOST):
                self._found = await nodes.statuses()
            self._failed, self._answered = False, self._clock()
            self._others = await self.ask_others(RUNTIME, "")
        except (ClusterUnavailable, TimeoutError):
            self._failed = True
        finally:
            self._asking = None


class _Taken:
    """The Responder of a question to another node: it takes the whole answer."""

    gone = False
    unsent = status = 0
    body = b""

    def answer(self, status: int, body: bytes = b"", kind: bytes = b"", headers: HeaderList = ()) -> None:
        self.status, self.body = status, body

    def _ignored(self, *_: object, **__: object) -> None: ...

    begin_events = send = end = on_gone = on_room = _ignored


def _row(node: NodeStatus, here: str, known: bool) -> Document:
    """A node's row. Without a lease it may live while Redis is gone (not `known`); this node always lives."""
    alive = True if node.label == here else node.alive if known else None
    state = {True: "alive", False: "gone", None: "unknown"}[alive]
    return {**asdict(node), "alive": alive, "state": state, "here": node.label == here}
