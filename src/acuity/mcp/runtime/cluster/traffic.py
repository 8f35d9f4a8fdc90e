"""The traffic between this node and the others, put together around the node's own handler."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import NamedTuple

from acuity.mcp.runtime.cluster.cluster_handler import ClusterHandler
from acuity.mcp.runtime.cluster.cluster_node import ClusterNode
from acuity.mcp.runtime.cluster.forwarding import Forwarder
from acuity.mcp.runtime.cluster.liveness import Liveness
from acuity.mcp.runtime.cluster.peers_port import PeersHandler
from acuity.mcp.runtime.cluster.places import Ownership
from acuity.mcp.runtime.cluster.signatures import Signer, Verifier
from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.wire.http.request import Handler
from acuity.mcp.wire.serving import Serving


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
