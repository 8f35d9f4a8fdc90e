"""Figures for Prometheus: latencies, counters, sessions, workers, and the delay of the event loop."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from fake_responder import FakeClock
from longwire.counters import RuntimeCounters
from longwire.operations.figures import WINDOW, Latencies, quantile, worker_figures
from longwire.operations.metrics import TOO_LATE, LoopLag, Metrics
from longwire.server.main import Readiness
from longwire.workers.worker import WorkerStatus

WORKERS = ["worker_events", "worker_failures"]  # which worker_figures() has
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runtime.md").read_text()
# By the names of the plan for streamable HTTP where it has one; the others have that of their field.
NAMES = {
    "messages_dropped": "pending_dropped",
    "streams_opened": "get_streams_opened",
    "journal_failures": "store_failures",
}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics([])


def test_quantiles_are_exact_and_of_the_last_observations() -> None:
    latencies = Latencies("seconds", "Seconds", "tool", ["a", "b"], [0.1, 1.0, 10.0])
    assert quantile(latencies.newest(), 0.5) is None
    for seconds in (0.317, 0.257, 0.270):
        latencies.observe("a", seconds)
    assert [quantile(latencies.newest(), share) for share in (0.5, 0.99)] == [0.270, 0.317]
    assert (latencies.newest(2), latencies.newest(0)) == ((0.257, 0.270), ())
    for number in range(1, WINDOW + 251):
        latencies.observe("a", float(number))
    [(_, counts, _, window)] = latencies.figures()
    assert sum(counts) == WINDOW + 253
    assert len(window) == WINDOW
    # Of 251 to 1250, one of them each, however wide the buckets are.
    assert [quantile(window, share) for share in (0.5, 0.95, 0.99, 1.0)] == [750, 1200, 1240, 1250]


def test_goals_between_a_tenth_of_a_second_and_one_have_buckets() -> None:
    bounds = Metrics([]).call_seconds.bounds
    between = [bound for bound in bounds if 0.1 <= bound <= 1.0]
    assert max(after / before for before, after in pairwise(between)) <= 1.5
    assert max(after / before for before, after in pairwise(bounds)) <= 3.0


def test_every_counter_is_a_series(metrics: Metrics) -> None:
    counters = RuntimeCounters()
    metrics.watch_runtime(counters)
    plain = [field.name for field in dataclasses.fields(counters) if field.type == "int"]
    for number, name in enumerate(plain, start=1):
        series = f"longwire_mcp_{NAMES.get(name, name)}_total"
        assert metrics.registry.get_sample_value(series) == 0
        setattr(counters, name, number)
        assert metrics.registry.get_sample_value(series) == number


def test_a_node_says_how_its_cluster_is(metrics: Metrics) -> None:
    cluster = SimpleNamespace(living=2, holds_lease=True, link=SimpleNamespace(failures=0, healthy=True))
    metrics.watch_runtime(RuntimeCounters(), cluster=cluster)

    def values() -> list[float | None]:
        names = ("redis_up", "lease_held", "nodes", "redis_failures_total")
        return [metrics.registry.get_sample_value(f"longwire_cluster_{name}") for name in names]

    assert values() == [1, 1, 2, 0]
    cluster.link.healthy, cluster.link.failures, cluster.holds_lease = False, 7, False
    assert values() == [0, 0, None, 7]  # nobody knows how many nodes live


def test_reasons_and_outcomes_are_labels(metrics: Metrics) -> None:
    counters = RuntimeCounters()
    metrics.watch_runtime(counters)
    others = [field.name for field in dataclasses.fields(counters) if field.type != "int"]
    assert sorted(others) == ["client_requests", "forwards_failed", "refused", *WORKERS]
    counters.refused = Counter({"sessions": 2, "version": 1})
    counters.client_requests = Counter({("sampling", "timeout"): 3})
    counters.forwards_failed = Counter({"lost": 4})
    value = metrics.registry.get_sample_value
    assert value("longwire_mcp_requests_refused_total", {"reason": "sessions"}) == 2
    assert value("longwire_mcp_client_requests_total", {"kind": "sampling", "outcome": "timeout"}) == 3
    assert value("longwire_mcp_forwards_failed_total", {"outcome": "lost"}) == 4


def test_sessions_are_asked_at_each_scrape_until_they_end(metrics: Metrics) -> None:
    sessions = [
        SimpleNamespace(pending=pending, pending_bytes=size, open_gets=gets, at_risk=at_risk)
        for pending, size, gets, at_risk in ((3, 300, 1, False), (1, 20, 2, True), (0, 0, 0, False))
    ]
    stop = metrics.watch_runtime(RuntimeCounters(), lambda: sessions)

    def values() -> list[float | None]:
        names = ("sessions", "get_streams", "pending_messages", "pending_bytes")
        names += ("sessions_at_risk", "messages_at_risk")
        return [metrics.registry.get_sample_value(f"longwire_mcp_{name}") for name in names]

    assert values() == [3, 3, 4, 320, 1, 1]
    sessions.clear()
    assert values() == [0] * 6
    stop()
    assert values() == [None] * 6


STATUSES = [
    WorkerStatus("w1", "ready", "/a", 7, "php", 2, 10, 0, 0.0),
    WorkerStatus("w2", "waiting", "/b", None, "", 0, 0, 4, 0.0, "it ended"),
]
POOL = SimpleNamespace(queued=3, statuses=lambda: STATUSES)


def test_states_queue_events_and_failures_are_figures(metrics: Metrics) -> None:
    counters = RuntimeCounters()
    counters.worker_events["late"] += 2
    counters.worker_failures["worker_lost"] += 1
    forget = metrics.watch_workers(POOL, counters)
    value = metrics.registry.get_sample_value
    assert value("longwire_mcp_workers", {"state": "ready"}) == 1
    assert value("longwire_mcp_workers", {"state": "draining"}) == 0
    assert value("longwire_mcp_worker_calls_in_flight", {"worker": "w1"}) == 2
    assert value("longwire_mcp_worker_queue") == 3
    assert value("longwire_mcp_worker_events_total", {"event": "late"}) == 2
    assert value("longwire_mcp_worker_failures_total", {"error_class": "worker_lost"}) == 1
    forget()
    assert value("longwire_mcp_worker_queue") is None


def test_every_metric_of_workers_is_on_the_page() -> None:
    section = PAGE.split("## Workers\n", 1)[1].split("\n## ", 1)[0]
    told = re.findall(r"^\| `(longwire\w+)` \|", section, re.MULTILINE)
    families = worker_figures(POOL, RuntimeCounters())
    assert told == [family.name + ("_total" if family.type == "counter" else "") for family in families]


def test_tools_whose_names_come_later_get_labels(metrics: Metrics) -> None:
    assert metrics.tool("echo") == "unknown"
    metrics.know(["echo"])
    metrics.called(metrics.tool("echo"), "ok", 0.1)
    labels = {"tool": "echo", "outcome": "ok"}
    assert metrics.registry.get_sample_value("longwire_mcp_calls_total", labels) == 1


def test_the_longest_delay_of_the_last_seconds_counts() -> None:
    clock = FakeClock()
    lag = LoopLag(clock)
    assert lag.seconds == 0.0
    for pause in (0.25, 0.75, 0.25):
        lag.look()
        clock.now += pause
    assert lag.seconds == 0.5
    for _ in range(41):
        lag.look()
        clock.now += 0.25
    assert lag.seconds == 0.0


def test_a_server_whose_loop_is_late_is_not_ready_also_while_it_lasts() -> None:
    clock = FakeClock()
    lag = LoopLag(clock)
    lag.look()
    ready = Readiness(None, lag)
    assert ready.problem() == "the server is starting"
    ready.opened()
    clock.now += 0.25 + TOO_LATE
    assert ready.problem() is None
    clock.now += 1.0
    assert ready.problem() == "its event loop was 3.0 s late within the last 10 s"
    lag.look()
    assert ready.problem() is not None  # it is remembered


async def test_it_is_a_metric_while_it_is_watched() -> None:
    metrics, clock = Metrics(()), FakeClock()
    metrics.loop_lag = LoopLag(clock)
    async with metrics.loop_lag.watched():
        await asyncio.sleep(0)
        clock.now += 5.25
        assert metrics.registry.get_sample_value("longwire_mcp_loop_lag_seconds") == 5.0
    assert metrics.registry.get_sample_value("longwire_mcp_loop_lag_seconds") == 0.0
