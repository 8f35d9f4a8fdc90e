"""What a node shares with others, put together: its connection to Redis, its lease, its sessions' owners."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from longwire.cluster.nodes import Nodes
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.redis_link import PREFIX, RedisLink, open_redis
from longwire.cluster.session_store import RedisSessions
from longwire.cluster.shared_notifications import SharedNotifications
from longwire.counters import RuntimeCounters
from longwire.journal.buffered_journal import BufferedJournal
from longwire.sessions.registry import Sessions
from longwire.settings import WireLimits


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
