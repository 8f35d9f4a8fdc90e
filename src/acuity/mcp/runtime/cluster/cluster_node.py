"""This process as a node of its cluster: its lease in Redis, and the keys that it shares with the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from acuity.mcp.runtime.cluster.cluster_settings import ClusterSettings
from acuity.mcp.runtime.cluster.cluster_state import ClusterState, open_cluster
from acuity.mcp.runtime.cluster.shared_bus import SharedSubscriptionBus
from acuity.mcp.runtime.cluster.shared_secret import ClusterKeys
from acuity.mcp.settings import Settings


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node that has its lease."""

    state: ClusterState
    keys: ClusterKeys
    bus: SharedSubscriptionBus


@asynccontextmanager
async def joined(settings: Settings) -> AsyncIterator[ClusterNode | None]:
    """The node while the block lasts; None: the server is alone. Raises SettingsError, or MissingExtra."""
    found = ClusterSettings.of(settings)
    if found is None:
        yield None
        return
    async with open_cluster(found.redis, found.node, found.address, prefix=found.prefix) as state:
        bus = SharedSubscriptionBus(state.link, state.nodes.incarnation)
        try:
            yield ClusterNode(state, found.keys, bus)
        finally:
            await bus.close()
