"""This process as a node of its cluster: its connection to Redis, lease, owners of sessions, keys."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from longwire.cluster.cluster_settings import ClusterKeys, ClusterSettings
from longwire.cluster.nodes import Nodes
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.redis_link import PREFIX, RedisLink, open_redis
from longwire.cluster.session_store import RedisSessions
from longwire.cluster.shared_bus import SharedSubscriptionBus
from longwire.cluster.shared_notifications import SharedNotifications
from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import BufferedJournal
from longwire.sessions.registry import Sessions
from longwire.settings import Settings, WireLimits


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A node that has its lease."""

    link: RedisLink
    nodes: Nodes


@dataclass(frozen=True, slots=True)
class ClusterSessions:
    """The sessions of a node, and who has which."""

    sessions: Sessions
    ownership: SessionOwnership
    notifications: SharedNotifications


@asynccontextmanager
async def open_cluster(
    url: str, node: str, address: str, *, prefix: str = PREFIX, secret: str = ""
) -> AsyncIterator[ClusterState]:
    """A node while the block lasts; raises SettingsError, or MissingExtra.

    `node` is its label, `address` http://HOST:PORT of its port for other nodes, `secret` a fingerprint of
    the one that the nodes share.
    """
    async with open_redis(url, node, prefix=prefix) as link:
        nodes = Nodes(link, address, secret=secret)
        await nodes.join()
        try:
            yield ClusterState(link, nodes)
        finally:
            await nodes.leave()


@asynccontextmanager
async def cluster_sessions(
    cluster: ClusterState, limits: WireLimits, counters: RuntimeCounters
) -> AsyncIterator[ClusterSessions]:
    """The sessions of a node while the block lasts; then all of them are released."""
    store = RedisSessions(cluster.nodes, ttl=limits.idle_timeout, max_events=limits.max_pending)
    journal = BufferedJournal(store, counters)
    try:
        sessions = Sessions(limits, journal, counters, wall=cluster.link.now, label=cluster.nodes.label)
        ownership = SessionOwnership(cluster.nodes, sessions, journal, store)
        notifications = SharedNotifications(cluster.link, sessions, ownership, ttl=store.kept_for)
        ownership.on_adopted = notifications.give_missed
        try:
            yield ClusterSessions(sessions, ownership, notifications)
        finally:
            await notifications.close()
            await ownership.release_all()
    finally:
        journal.close()


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
