"""This process as a node of its cluster: its connection to Redis, lease, owners of sessions, keys."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from longwire.cluster.cluster_settings import CHECKS, ClusterKeys, read_secret
from longwire.cluster.nodes import Nodes
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.redis_link import open_redis
from longwire.cluster.session_store import RedisSessions
from longwire.cluster.shared_bus import SharedSubscriptionBus
from longwire.cluster.shared_notifications import SharedNotifications
from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import BufferedJournal
from longwire.sessions.registry import Sessions
from longwire.settings import Settings, WireLimits

logger: Final = logging.getLogger(__name__)

_JOINED: Final = (
    "node '%(node)s' at %(address)s joined the cluster '%(prefix)s' in %(redis)s; nodes that live: %(nodes)d"
)


@asynccontextmanager
async def cluster_sessions(
    nodes: Nodes, limits: WireLimits, counters: RuntimeCounters
) -> AsyncIterator[tuple[Sessions, SessionOwnership, SharedNotifications]]:
    """The sessions of a node while the block lasts; then all of them are released."""
    link = nodes.link
    store = RedisSessions(nodes, ttl=limits.idle_timeout, max_events=limits.max_pending)
    journal = BufferedJournal(store, counters)
    try:
        sessions = Sessions(limits, journal, counters, wall=link.now, label=nodes.label)
        ownership = SessionOwnership(nodes, sessions, journal, store)
        notifications = SharedNotifications(link, sessions, ownership, ttl=store.kept_for)
        ownership.on_adopted = notifications.give_missed
        try:
            yield sessions, ownership, notifications
        finally:
            await notifications.close()
            await ownership.release_all()
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node that has its lease."""

    nodes: Nodes
    keys: ClusterKeys
    bus: SharedSubscriptionBus

    @property
    def name(self) -> str:
        """A name that all nodes of the cluster share, and no other cluster has."""
        return f"{self.nodes.link.key()}:{self.keys.fingerprint}"


@asynccontextmanager
async def joined(settings: Settings) -> AsyncIterator[ClusterNode | None]:
    """The node while the block lasts; None: the server is alone. Raises SettingsError, or MissingExtra."""
    if settings.cluster_redis is None:
        yield None
        return
    found = {name: getattr(settings, f"cluster_{name}") for name in CHECKS}
    for name, check in CHECKS.items():
        check(found[name])
    keys = ClusterKeys.of(read_secret(found.pop("secret_file")))
    async with open_redis(found["redis"], found["node"], prefix=found["prefix"]) as link:
        nodes = Nodes(link, found["address"], secret=keys.fingerprint)
        await nodes.join()
        told = found | {"redis": str(link.address), "nodes": nodes.living}
        logger.info(_JOINED, told, extra={"event": "cluster", **told})
        bus = SharedSubscriptionBus(link, nodes.incarnation)
        try:
            yield ClusterNode(nodes, keys, bus)
        finally:
            await bus.close()
            await nodes.leave()
