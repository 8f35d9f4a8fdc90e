"""The Streamable HTTP runtime of one server put together: its sessions, their journal, and the handlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.draining import Drain
from acuity.mcp.runtime.journal.open_journal import open_journal
from acuity.mcp.runtime.sessions.registry import Sessions
from acuity.mcp.runtime.streamable import Streamable
from acuity.mcp.runtime.workers.dispatch import WorkerDispatch
from acuity.mcp.runtime.workers.pool import WorkerPool
from acuity.mcp.wire.http.request import Handler
from acuity.mcp.wire.serving import Serving


@dataclass(frozen=True, slots=True)
class HttpRuntime:
    """What all HTTP endpoints of a server share."""

    handle: Handler  # of requests at /mcp
    bare: Handler  # of POSTs that belong to no session and have no envelope
    sessions: Sessions
    counters: RuntimeCounters
    drain: Drain  # how it leaves
    peers: Handler | None = None  # of requests that other nodes of the cluster pass on


@asynccontextmanager
async def http_runtime(
    serving: Serving,
    store: str = "memory",
    counters: RuntimeCounters | None = None,
    workers: WorkerPool | None = None,
) -> AsyncIterator[HttpRuntime]:
    """The runtime while the block lasts; raises SettingsError where the store can't be used.

    `workers` run the methods, if not this process. They end with the block.
    """
    counters = counters or RuntimeCounters()
    counters.refused = serving.access.refused  # one count, whichever check refuses
    journal = open_journal(store, ttl=serving.limits.idle_timeout, counters=counters)
    try:
        sessions = Sessions(serving.limits, journal, counters)
        dispatch = None
        if workers is not None:
            dispatch = WorkerDispatch(serving.server, workers, counters)
            dispatch.use_sessions(sessions)
        streamable = Streamable(serving, sessions, counters, dispatch=dispatch)
        drain = Drain(sessions)
        handle = drain.public(drain.local(streamable.handle))
        undo = serving.access.tokens.on_gone(streamable.end_gone)
        try:
            async with streamable.run():
                yield HttpRuntime(handle, streamable.bare, sessions, counters, drain)
        finally:
            undo()
    finally:
        journal.close()
