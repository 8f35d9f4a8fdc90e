"""The traffic between this node and the others, put together around the node's own handler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Final, NamedTuple, TypeAlias

from longwire.cluster.cluster_handler import ClusterHandler
from longwire.cluster.cluster_node import ClusterNode
from longwire.cluster.forwarding import Forwarder
from longwire.cluster.nodes import Nodes
from longwire.cluster.peers_port import PeersHandler
from longwire.cluster.places import ClusterUnavailable, Ownership, Place
from longwire.cluster.signatures import Signer, Verifier
from longwire.counters import RuntimeCounters
from longwire.wire.http.request import Handler
from longwire.wire.serving import Serving

_FRESH: Final = 1.0  # seconds that an answer counts
_Alive: TypeAlias = frozenset[tuple[str, str]]  # labels and incarnations


class Traffic(NamedTuple):
    """The handlers of a node's two ports."""

    public: Handler
    peers: PeersHandler
    forwarder: Forwarder


@asynccontextmanager
async def traffic(
    local: Handler,
    sessions: Container[str],
    ownership: Ownership,
    serving: Serving,
    counters: RuntimeCounters,
    cluster: ClusterNode,
) -> AsyncIterator[Traffic]:
    """The handlers while the block lasts. `local` serves this node's sessions, whose ids `sessions` has."""
    clock, key = cluster.state.link.now, cluster.keys.forwarding
    node, incarnation = cluster.state.nodes.label, cluster.state.nodes.incarnation
    forwarder = Forwarder(Signer(key, node, clock), serving.limits, Liveness(cluster.state.nodes))
    handler = ClusterHandler(
        local, sessions, ownership, forwarder, counters, node=node, incarnation=incarnation
    )
    verifier = Verifier(key, node, incarnation, clock)
    undo = serving.access.tokens.on_gone(forwarder.end_gone)
    try:
        yield Traffic(handler.handle, PeersHandler(local, sessions, verifier, counters.refused), forwarder)
    finally:
        undo()
        await handler.close()
        forwarder.close()


class Liveness:
    """Says whether a node lives, as far as is known: where Redis doesn't answer, it does."""

    def __init__(self, nodes: Nodes, clock: Callable[[], float] = time.monotonic) -> None:
        self._nodes = nodes
        self._clock = clock
        self._asked = -_FRESH
        self._asking: asyncio.Task[_Alive | None] | None = None

    async def __call__(self, place: Place) -> bool:
        now = self._clock()
        if self._asking is None or now - self._asked >= _FRESH:
            self._asked = now
            self._asking = asyncio.create_task(self._ask(), context=Context())
        alive = await asyncio.shield(self._asking)
        return alive is None or (place.node, place.incarnation) in alive

    async def _ask(self) -> _Alive | None:
        try:
            found = await self._nodes.statuses()
        except ClusterUnavailable:
            return None
        return frozenset((one.label, one.incarnation) for one in found if one.alive)
