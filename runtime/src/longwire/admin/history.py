"""The last hour of the server's figures, kept whether or not anybody looks."""

from __future__ import annotations

import asyncio
import operator
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, Final

from longwire.admin.queries import Document
from longwire.admin.runtime_view import quantiles
from longwire.admin.sessions_view import totals
from longwire.admin.sources import Sources

PERIOD: Final = 10.0  # seconds
KEPT: Final = 360  # points: an hour
# How the figures of several nodes make one; those that are not named add up.
_HIGHEST: Final = ("p50_ms", "p95_ms", "p99_ms")


class History:
    """A point for each period, the oldest first."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._points: deque[Document] = deque(maxlen=KEPT)
        self._counted = self._counts()
        self._timer: asyncio.TimerHandle | None = None
        self.on_point: Callable[[], object] = lambda: None  # is called with each point

    def start(self) -> None:
        """Take a point each period from now on."""
        loop = asyncio.get_running_loop()

        def tick() -> None:
            self._timer = loop.call_later(PERIOD, tick)
            self.take()
            self.on_point()

        self._timer = loop.call_later(PERIOD, tick, context=Context())

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def take(self) -> None:
        """Take a point: what is open now, and what came since the point before."""
        sources, before = self._sources, self._counted
        self._counted = counted = self._counts()
        requests, errors, refused = (now - then for now, then in zip(counted, before, strict=True))
        sessions = totals(() if sources.runtime is None else sources.runtime.sessions)
        self._points.append(
            {
                "at_unix": PERIOD * (sources.clock() // PERIOD),  # the same for all nodes
                "sessions": sessions.sessions,
                "streams": sessions.streams,
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

    def document(self) -> Document:
        """The document of GET /admin/history."""
        return {"period_seconds": PERIOD, "points": list(self._points)}

    def _counts(self) -> tuple[int, int, int]:
        """Since the start: requests that were answered, calls that failed, requests that were refused."""
        metrics, runtime = self._sources.metrics, self._sources.runtime
        refused = 0 if runtime is None else sum(runtime.counters.refused.values())
        return metrics.request_seconds.count, metrics.errors, refused


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
