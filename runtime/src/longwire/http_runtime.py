"""The Streamable HTTP runtime of one server put together: its sessions, their journal, and the handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from longwire.cluster.cluster_node import ClusterNode, cluster_sessions
from longwire.cluster.forwarding import Forwarder
from longwire.cluster.nodes import Nodes
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.traffic import PeersHandler, traffic
from longwire.counters import RuntimeCounters
from longwire.dispatch.core import Core
from longwire.dispatch.dispatcher import Dispatcher
from longwire.dispatch.draining import Draining
from longwire.dispatch.streamable import Streamable
from longwire.journal.stores import open_journal
from longwire.sessions.registry import Sessions
from longwire.settings import WireLimits
from longwire.wire.http.request import Handler
from longwire.wire.serving import Serving
from longwire.workers.dispatch import Notifier, WorkerDispatch
from longwire.workers.pool import WorkerPool

# Seconds without a worker after which a node of several sends new clients to others.
_MISSING: Final = 1.0


@dataclass(frozen=True, slots=True)
class HttpRuntime:
    """The parts that all HTTP endpoints of a server share."""

    handle: Handler  # of requests at /mcp
    bare: Handler  # of POSTs that belong to no session and have no envelope
    sessions: Sessions
    counters: RuntimeCounters
    drain: Draining  # sends clients elsewhere at the end
    peers: PeersHandler | None = None  # of requests that other nodes of the cluster pass on
    forwarder: Forwarder | None = None  # passes requests on to other nodes
    ownership: SessionOwnership | None = None  # of a node of a cluster: which node has which session
    workers: WorkerPool | None = None  # that run the methods, if not this process
    nodes: Nodes | None = None  # of the cluster, if there is one


@asynccontextmanager
async def http_runtime(
    serving: Serving,
    store: str = "memory",
    counters: RuntimeCounters | None = None,
    workers: WorkerPool | None = None,
    cluster: ClusterNode | None = None,
    on_tools: Callable[[Iterable[str]], None] | None = None,
) -> AsyncIterator[HttpRuntime]:
    """The runtime while the block lasts; raises SettingsError where the store can't be used.

    `workers` run the methods, if not this process. They end with the block. The sessions of a node of a
    `cluster` are in Redis, whatever the store; when the block ends they are released to other nodes.
    `on_tools` is told the names of the workers' tools.
    """
    counters = counters or RuntimeCounters()
    counters.refused = serving.access.refused  # one count, whichever check refuses
    nodes = None if cluster is None else cluster.nodes
    async with AsyncExitStack() as stack:
        sessions, ownership, notify = await stack.enter_async_context(
            _sessions(serving.limits, store, counters, nodes)
        )
        dispatch: Dispatcher | WorkerDispatch = Dispatcher(serving)
        if workers is not None:
            patience = serving.limits.send_timeout
            dispatch = WorkerDispatch(serving.server, workers, counters, notify, patience, on_tools)
            if cluster is not None:
                workers.cluster = cluster.name
        dispatch.turn.gathers = True
        streamable = Streamable(Core(serving, counters, dispatch), sessions)
        drain = Draining(
            sessions,
            ownership.release_all if ownership is not None else None,
            unable=lambda: workers is not None and workers.missing_seconds > _MISSING,
        )
        stack.callback(serving.access.tokens.on_gone(streamable.end_gone))
        await stack.enter_async_context(streamable.run())
        if workers is not None:
            await workers.start()
        handle = serving.turns.handler(drain.local(streamable.handle), counters.refused)
        peers, forwarder = None, None
        if cluster is not None and ownership is not None:
            handle, peers, forwarder = await stack.enter_async_context(
                traffic(handle, sessions, ownership, serving, counters, cluster)
            )
        handle, bare = drain.public(handle), streamable.bare
        yield HttpRuntime(
            handle, bare, sessions, counters, drain, peers, forwarder, ownership, workers, nodes
        )


@asynccontextmanager
async def _sessions(
    limits: WireLimits, store: str, counters: RuntimeCounters, nodes: Nodes | None
) -> AsyncIterator[tuple[Sessions, SessionOwnership | None, Notifier]]:
    if nodes is not None:
        async with cluster_sessions(nodes, limits, counters) as (sessions, ownership, notifications):
            yield sessions, ownership, notifications.notify
        return
    journal = open_journal(store, ttl=limits.idle_timeout, counters=counters)
    try:
        sessions = Sessions(limits, journal, counters)
        yield sessions, None, sessions.notify_and_answer
    finally:
        journal.close()
