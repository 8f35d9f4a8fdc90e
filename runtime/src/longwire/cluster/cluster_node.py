"""This process as a node of its cluster: its lease in Redis, and the keys that it shares with the others."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from longwire.cluster.cluster_settings import ClusterSettings
from longwire.cluster.cluster_state import ClusterState, open_cluster
from longwire.cluster.shared_bus import SharedSubscriptionBus
from longwire.cluster.shared_secret import ClusterKeys
from longwire.settings import Settings

logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node that has its lease."""

    state: ClusterState
    keys: ClusterKeys
    bus: SharedSubscriptionBus

    @property
    def name(self) -> str:
        """The same at all nodes of the cluster, and at no other's."""
        return f"{self.state.link.key()}:{self.keys.fingerprint}"


@asynccontextmanager
async def joined(settings: Settings) -> AsyncIterator[ClusterNode | None]:
    """The node while the block lasts; None: the server is alone. Raises SettingsError, or MissingExtra."""
    found = ClusterSettings.of(settings)
    if found is None:
        yield None
        return
    async with open_cluster(
        found.redis, found.node, found.address, prefix=found.prefix, secret=found.keys.fingerprint
    ) as state:
        nodes = state.nodes
        logger.info(
            "node '%s' at %s joined the cluster '%s' in %s; nodes that live: %d",
            found.node,
            found.address,
            found.prefix,
            state.link.address,
            nodes.living,
            extra={
                "event": "cluster",
                "node": found.node,
                "address": found.address,
                "redis": str(state.link.address),
                "prefix": found.prefix,
                "nodes": nodes.living,
            },
        )
        bus = SharedSubscriptionBus(state.link, state.nodes.incarnation)
        try:
            yield ClusterNode(state, found.keys, bus)
        finally:
            await bus.close()
