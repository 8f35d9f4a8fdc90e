"""Prometheus metrics of workers: what each does at the moment, and what has gone wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.workers.status import Workers, WorkerState

_STATES: Final[tuple[str, ...]] = get_args(WorkerState)


class WorkerFigures(Collector):
    """Reads the statuses and the counters at each scrape."""

    def __init__(self, workers: Workers, counters: RuntimeCounters) -> None:
        self._workers = workers
        self._counters = counters

    def collect(self) -> Iterable[Metric]:
        statuses = self._workers.statuses()
        count = GaugeMetricFamily("acuity_mcp_workers", "Workers, by state", labels=["state"])
        found = Counter(status.state for status in statuses)
        for state in _STATES:
            count.add_metric([state], found[state])  # type: ignore[index]
        yield count
        in_flight = GaugeMetricFamily(
            "acuity_mcp_worker_calls_in_flight", "Calls that a worker runs", labels=["worker"]
        )
        for status in statuses:
            in_flight.add_metric([status.id], status.in_flight)
        yield in_flight
        yield GaugeMetricFamily(
            "acuity_mcp_worker_queue", "Calls that wait for a worker", self._workers.queued
        )
        for name, text, label, counts in (
            ("acuity_mcp_worker_events", "What happened to workers", "event", self._counters.worker_events),
            (
                "acuity_mcp_worker_failures",
                "Calls that failed in workers",
                "error_class",
                self._counters.worker_failures,
            ),
        ):
            family = CounterMetricFamily(name, text, labels=[label])
            for key, value in sorted(counts.items()):
                family.add_metric([key], value)
            yield family
