"""Prometheus metrics of requests, calls, jobs and workers, in a registry of their own."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from longwire.counters import RuntimeCounters
from longwire.names import named, own_names
from longwire.operations.figures import Figures, Latencies, labelled, runtime_figures, worker_figures
from longwire.wire.http.request import Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import Routes, answer_text, for_methods
from longwire.wire.serving import Presence
from longwire.work import OVER, Job, Jobs

if TYPE_CHECKING:
    from longwire.cluster.nodes import Nodes
    from longwire.sessions.session import Session
    from longwire.workers.pool import WorkerPool

# Labels come from these tables and from the server's own names, never from a client's text: calls of a
# thousand unknown tools must not create a thousand series.
OUTCOMES: Final = ("ok", "error", "refused", "cancelled", "crashed", "task", "input_required")
_FINE: Final = frozenset({"ok", "task", "input_required"})  # outcomes that are no errors
UNKNOWN: Final = "unknown"
METHODS: Final = (
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list",
    "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
    "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "subscriptions/listen",
    "tasks/get", "tasks/update", "tasks/cancel",
)  # fmt: skip
_KNOWN: Final = frozenset(METHODS)
_CALL: Final = "tools/call"

# Seconds. Calls are a millisecond or minutes; waits are nothing or minutes. Each bound is at most three times
# the one before, and between a tenth of a second and one, where goals mostly lie, at most 1.5 times.
_CALL_BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0),
    *(1.5, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0),
)
_JOB_BUCKETS: Final = (0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)

_MOST_TOOLS: Final = 500  # with labels of their own

HEALTH: Final = ("/healthz", "/readyz")  # say nothing that anybody may not know

_FRESH: Final[HeaderList] = [(b"cache-control", b"no-store")]

TOO_LATE: Final = 2.0  # seconds
WINDOW: Final = 10.0  # seconds that a delay is remembered, and longer where the loop is late
_EVERY: Final = 0.25  # seconds between two looks

_FINISHED: Final = ("completed", "failed", "cancelled", "interrupted")
# Fields of JobsStats, which are the names of the metrics too.
_JOB_GAUGES: Final = {
    "queued": "Jobs that wait",
    "running": "Jobs that run",
    "workers": "Worker processes alive",
}
_JOB_COUNTERS: Final = {
    "submitted": "Jobs taken in",
    "timeouts": "Jobs stopped because they took too long",
    "workers_started": "Worker processes started",
    "workers_lost": "Worker processes that crashed or were killed",
}


class LoopLag:
    """The delay of the event loop: by how much timers missed their time, the worst of the last seconds.

    Every request waits that long before anything looks at it, so a probe should know.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._late: deque[float] = deque(maxlen=round(WINDOW / _EVERY))
        self._due: float | None = None  # None: nobody looks

    @property
    def seconds(self) -> float:
        """The longest delay of the last seconds, the present one included."""
        present = 0.0 if self._due is None else self._clock() - self._due
        return max(present, 0.0, *self._late)

    def problem(self) -> str | None:
        """Why the server should get no more work, in a sentence; None: it is in time."""
        late = self.seconds
        if late <= TOO_LATE:
            return None
        return f"its event loop was {late:.1f} s late within the last {WINDOW:g} s"

    def look(self) -> None:
        """Note how late it is, and when to look again."""
        now = self._clock()
        if self._due is not None:
            self._late.append(now - self._due)
        self._due = now + _EVERY

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look again and again while the block lasts."""
        task = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            self._due = None

    async def _watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_EVERY)


class OpenConnections(Presence):
    """Counts network connections."""

    def __init__(self) -> None:
        self._open: set[object] = set()

    def __len__(self) -> int:
        return len(self._open)

    def came(self, connection: object) -> None:
        self._open.add(connection)

    def left(self, connection: object) -> None:
        self._open.discard(connection)  # stdin and stdout never came


class Metrics:
    """The registry, and the counters of tool calls."""

    def __init__(self, tools: Collection[str]) -> None:
        # Otherwise each counter has a second series that only tells when the process started.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._tools = frozenset(tools)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        Info(named("build"), f"The version of {own_names().title}", registry=self.registry).info(
            {"version": own_names().version}
        )
        # By tool and outcome; only the event loop changes them.
        self._calls = {name: dict.fromkeys(OUTCOMES, 0) for name in (*self._tools, UNKNOWN)}
        self.registry.register(Figures(self._call_counts))
        self.in_flight = 0  # tool calls under way; only the event loop changes it
        self.errors = 0  # tool calls that are over, and did not do what they should
        self.connections = OpenConnections()
        self.loop_lag = LoopLag()
        late = "How late the event loop was at most in the last seconds"
        self._gauge("mcp_calls_in_flight", "Tool calls under way", lambda: self.in_flight)
        self._gauge("mcp_connections", "Open network connections", lambda: len(self.connections))
        self._gauge("mcp_loop_lag_seconds", late, lambda: self.loop_lag.seconds)
        took = "Seconds that tool calls took, waiting included"
        self.call_seconds = self._latencies("mcp_call_seconds", took, "tool", self._calls)
        took = "Seconds that requests took, by method"
        self.request_seconds = self._latencies("mcp_request_seconds", took, "method", (*METHODS, UNKNOWN))

    def know(self, tools: Iterable[str]) -> None:
        """Have labels for these tools too, whose names were not known at first; a limited number."""
        for tool in tools:
            if tool not in self._tools and len(self._tools) < _MOST_TOOLS:
                self._tools |= {tool}
                self._calls[tool] = dict.fromkeys(OUTCOMES, 0)
                self.call_seconds.add(tool)

    def tool(self, name: object) -> str:
        """The name as a label."""
        return name if isinstance(name, str) and name in self._tools else UNKNOWN

    def called(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a finished call, and its request; `tool` is a label."""
        self._calls[tool][outcome] += 1
        if outcome not in _FINE:
            self.errors += 1
        self.call_seconds.observe(tool, seconds)
        self.request_seconds.observe(_CALL, seconds)

    def outcomes(self) -> dict[str, dict[str, int]]:
        """The number of calls by tool and outcome, without outcomes that no call had."""
        found = {
            tool: {outcome: count for outcome, count in counts.items() if count}
            for tool, counts in self._calls.items()
        }
        return {tool: counts for tool, counts in found.items() if counts}

    def _call_counts(self) -> Iterator[Metric]:
        counts = {(tool, outcome): n for tool, found in self._calls.items() for outcome, n in found.items()}
        yield labelled("mcp_calls", "Tool calls that are over", ["tool", "outcome"], counts)

    def answered(self, method: str, seconds: float) -> None:
        """Count another request that is over; `method` is as the client wrote it."""
        self.request_seconds.observe(method if method in _KNOWN else UNKNOWN, seconds)

    def watch_runtime(
        self,
        counters: RuntimeCounters,
        sessions: Callable[[], Iterable[Session]] = tuple,
        cluster: Nodes | None = None,
    ) -> Callable[[], None]:
        """Add metrics of the HTTP runtime; returns a function that removes them."""
        return self._add(Figures(partial(runtime_figures, counters, sessions, cluster)))

    def watch_workers(self, workers: WorkerPool, counters: RuntimeCounters) -> Callable[[], None]:
        """Add metrics of these workers; returns a function that removes them."""
        return self._add(Figures(partial(worker_figures, workers, counters)))

    def watch(self, jobs: Jobs) -> Callable[[], None]:
        """Add metrics of these jobs; returns a function that removes them."""
        figures = _JobFigures(jobs, self.tool)
        remove, unsubscribe = self._add(figures), jobs.on_change(figures.changed)

        def stop() -> None:
            unsubscribe()
            remove()

        return stop

    def _add(self, figures: Collector) -> Callable[[], None]:
        self.registry.register(figures)
        return lambda: self.registry.unregister(figures)

    def _latencies(self, name: str, text: str, label: str, values: Iterable[str]) -> Latencies:
        made = Latencies(named(name), text, label, values, _CALL_BUCKETS)
        self.registry.register(made)
        return made

    def _gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        Gauge(named(name), text, registry=self.registry).set_function(read)


class _JobFigures(Collector):
    """Metrics read from the job service, and how long its jobs waited and ran."""

    def __init__(self, jobs: Jobs, label: Callable[[object], str]) -> None:
        self._jobs = jobs
        self._label = label
        # In no registry: this collector yields them.
        make = partial(Histogram, buckets=_JOB_BUCKETS, registry=None)
        self._wait = make(named("jobs_queue_wait_seconds"), "Seconds that jobs waited before they ran")
        self._run = make(named("jobs_run_seconds"), "Seconds that jobs ran", ("tool",))

    def changed(self, job: Job) -> None:
        if job.status == "running" and job.started is not None:
            self._wait.observe(max(job.started - job.created, 0.0))
        if job.status in OVER and job.started is not None and job.finished is not None:
            self._run.labels(self._label(job.tool)).observe(max(job.finished - job.started, 0.0))

    def collect(self) -> Iterable[Metric]:
        stats = self._jobs.stats()
        for field, text in _JOB_GAUGES.items():
            yield GaugeMetricFamily(named(f"jobs_{field}"), text, getattr(stats, field))
        for field, text in _JOB_COUNTERS.items():
            yield CounterMetricFamily(named(f"jobs_{field}"), text, getattr(stats, field))
        finished = {status: getattr(stats, status) for status in _FINISHED}
        yield labelled("jobs_finished", "Jobs that are over", ["status"], finished)
        yield from self._wait.collect()
        yield from self._run.collect()


def metrics_pages(registry: CollectorRegistry, problem: Callable[[], str | None] = lambda: None) -> Handler:
    """The handler of the pages for operators: metrics, health and readiness.

    `problem` says why no work is taken; None: it is.

    It looks at no token itself: see `Guarded`.
    """

    def metrics(request: Request, responder: Responder) -> None:
        if request.principal.tools is not None:
            answer_text(responder, 403, "this token is for some tools only: use another for metrics", _FRESH)
            return
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        responder.answer(200, encode(registry), kind.encode(), _FRESH)

    def alive(_: Request, responder: Responder) -> None:
        answer_text(responder, 200, "ok", _FRESH)

    def takes_work(_: Request, responder: Responder) -> None:
        why = problem()
        status, text = (200, "ready") if why is None else (503, f"not ready: {why}")
        answer_text(responder, status, text, _FRESH)

    pages: dict[str, Handler] = {"/metrics": metrics, "/healthz": alive, "/readyz": takes_work}
    return Routes({path: for_methods(("GET", "HEAD"), page) for path, page in pages.items()})
