"""The server as a whole as operators see it: figures, limits, workers, latencies, the last hour."""

from __future__ import annotations

import asyncio
import operator
import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import asdict
from typing import Any, Final

from longwire.admin.queries import NODES, Document, parameters
from longwire.admin.sessions_view import attached, limits_of_sessions
from longwire.admin.sources import Sources
from longwire.counters import RuntimeCounters
from longwire.declared import declared
from longwire.operations.figures import Latencies, plain_counts, quantile, session_totals
from longwire.settings import Settings

# Requests to clients that lack the capability, under the names of the runtime's plan.
_SAMPLING: Final = {
    "warned": "mcp_sampling_capability_warnings_total",
    "dropped": "mcp_sampling_capability_dropped_total",
    "refused": "mcp_sampling_capability_errors_total",
}


def runtime_document(sources: Sources) -> Document:
    """The document of GET /admin/runtime."""
    now, counters = sources.clock(), sources.counters
    all_sessions = session_totals(sources.sessions)
    return {
        "version": declared().version,
        "pid": os.getpid(),
        "at_unix": round(now, 3),
        "started_at_unix": round(sources.started, 3),
        "uptime_seconds": round(now - sources.started, 3),
        "ready": sources.problem() is None,
        "mcp_enabled": sources.runtime is not None,
        "active_mcp_sessions": all_sessions.sessions,
        "open_streams": sum(map(attached, sources.sessions)),
        "open_get_streams": all_sessions.gets,
        "open_subscriptions": sources.limits.subscriptions,
        "pending_messages": all_sessions.pending,
        "pending_bytes": all_sessions.pending_bytes,
        "connections": len(sources.metrics.connections),
        "requests_in_flight": sources.limits.in_flight,
        "tool_calls_in_flight": sources.metrics.in_flight,
        "limits": _limits(sources.settings),
        "stats": _stats(counters),
        "refused": dict(sorted(counters.refused.items())),
        "client_requests": _client_requests(counters.client_requests),
        "forwards_failed": dict(sorted(counters.forwards_failed.items())),
        "worker_events": dict(sorted(counters.worker_events.items())),
        "worker_failures": dict(sorted(counters.worker_failures.items())),
        "jobs": asdict(sources.jobs.stats()),
        "workers": workers_document(sources),
        "errors_total": sources.metrics.errors,
        "latency": _latencies(sources.metrics.call_seconds, sources.metrics.outcomes()),
        "methods": _latencies(sources.metrics.request_seconds),
    }


def workers_document(sources: Sources, query: str = "") -> Document:
    """The document of GET /admin/workers: the method workers behind the contract."""
    parameters(query, {})
    workers = sources.workers
    if workers is None:
        return {"enabled": False, "queued": 0, "can_restart": False, "workers": []}
    rows = [asdict(status) for status in workers.statuses()]
    return {"enabled": True, "queued": workers.queued, "can_restart": True, "workers": rows}


def _limits(settings: Settings) -> Document:
    return limits_of_sessions(settings) | {
        "max_connections": settings.connections,
        "max_calls": settings.calls,
        "max_calls_per_client": settings.calls_each,
        "max_subscriptions": settings.streams,
        "max_message_bytes": settings.body,
        **declared().limits(settings),
        "store": settings.store.partition(":")[0] if settings.cluster_redis is None else "redis",
    }


def _stats(counters: RuntimeCounters) -> Document:
    found: Document = {f"{name}_total": count for name, count in plain_counts(counters)}
    for outcome, name in _SAMPLING.items():
        found[name] = counters.client_requests["sampling", outcome]
    return found


def _client_requests(counted: Counter[tuple[str, str]]) -> Document:
    """Requests to clients: the count by outcome of each kind."""
    found: dict[str, dict[str, int]] = {}
    for (kind, outcome), count in sorted(counted.items()):
        found.setdefault(kind, {})[outcome] = count
    return found


def _latencies(latencies: Latencies, outcomes: Mapping[str, Mapping[str, int]] | None = None) -> Document:
    """Latencies of the methods or tools called: counts between the bounds, quantiles of the last calls."""
    rows = {}
    for name, counts, seconds, window in latencies.figures():
        summed = {"count": sum(counts), "sum_ms": round(1000 * seconds, 3)}
        rows[name] = {**summed, **quantiles(window), "counts": counts}
        if outcomes is not None:
            rows[name]["outcomes"] = dict(outcomes.get(name, {}))
    bounds = [1000 * bound for bound in latencies.bounds]
    return {"bounds_ms": bounds, "all": quantiles(latencies.newest()), "rows": rows}


def quantiles(ordered: Sequence[float]) -> Document:
    """The quantiles of the last calls; each is exactly the time of one call."""
    found = {f"p{round(100 * share)}_ms": quantile(ordered, share) for share in (0.5, 0.95, 0.99)}
    rounded = {name: None if value is None else round(1000 * value, 3) for name, value in found.items()}
    return {**rounded, "window_calls": len(ordered)}


PERIOD: Final = 10.0  # seconds
KEPT: Final = 360  # points: an hour
# How the figures of several nodes make one; those that are not named add up.
_HIGHEST: Final = ("p50_ms", "p95_ms", "p99_ms")


class History:
    """A point for each period, the oldest first."""

    def __init__(self, sources: Sources, on_point: Callable[[], object]) -> None:
        """Take a point each period from now on; `on_point` is called with each."""
        self._sources = sources
        self._points: deque[Document] = deque(maxlen=KEPT)
        self._counted = self._counts()
        loop = asyncio.get_running_loop()

        def tick() -> None:
            self._timer = loop.call_later(PERIOD, tick)
            self.take()
            on_point()

        self._timer = loop.call_later(PERIOD, tick, context=Context())

    def close(self) -> None:
        self._timer.cancel()

    def take(self) -> None:
        """Take a point: what is open now, and what came since the point before."""
        sources, before = self._sources, self._counted
        self._counted = counted = self._counts()
        requests, errors, refused = (now - then for now, then in zip(counted, before, strict=True))
        sessions = session_totals(sources.sessions)
        self._points.append(
            {
                "at_unix": PERIOD * (sources.clock() // PERIOD),  # the same for all nodes
                "sessions": sessions.sessions,
                "streams": sum(map(attached, sources.sessions)),
                "pending": sessions.pending,
                "connections": len(sources.metrics.connections),
                "in_flight": sources.limits.in_flight,
                "jobs": sources.jobs.stats().running,
                "requests": requests,
                "errors": errors,
                "refused": refused,
                **quantiles(sources.metrics.request_seconds.newest(requests)),
            }
        )

    def document(self, query: str) -> Document:
        parameters(query, NODES)
        return {"period_seconds": PERIOD, "points": list(self._points)}

    def _counts(self) -> tuple[int, int, int]:
        """Since the start: requests that were answered, calls that failed, requests that were refused."""
        metrics, refused = self._sources.metrics, self._sources.counters.refused
        return metrics.request_seconds.count, metrics.errors, sum(refused.values())


def histories_together(_: str, documents: Mapping[str, Document]) -> Document:
    """Merge the histories of several nodes: counts are added; of each quantile the highest is kept."""
    points: dict[float, Document] = {}
    told = [found for document in documents.values() if (found := document.get("points"))]
    last = min((found[-1]["at_unix"] for found in told), default=0.0)  # only some nodes have later points
    for point in (point for found in told for point in found if point["at_unix"] <= last):
        known = points.setdefault(point["at_unix"], {"at_unix": point["at_unix"]})
        for name, value in point.items():
            if name != "at_unix":
                merge: Callable[..., Any] = max if name in _HIGHEST else operator.add
                known[name] = value if known.get(name) is None else merge(known[name], value or 0)
    return {"period_seconds": PERIOD, "points": [points[at] for at in sorted(points)][-KEPT:]}
