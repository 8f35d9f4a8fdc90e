"""Prometheus figures of the HTTP runtime: every counter, and the sessions at the moment."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass

import pytest

from longwire.counters import RuntimeCounters
from longwire.operations.metrics import Metrics

WORKERS = ["worker_events", "worker_failures"]  # which WorkerFigures has

# By the names of the plan for streamable HTTP where it has one; the others have that of their field.
NAMES = {
    "messages_dropped": "pending_dropped",
    "streams_opened": "get_streams_opened",
    "journal_failures": "store_failures",
}


@dataclass
class Session:
    """What the figures read of a session."""

    pending: int = 0
    pending_bytes: int = 0
    open_gets: int = 0
    at_risk: bool = False


@dataclass
class Link:
    """What the figures read of a connection to Redis."""

    failures: int = 0
    healthy: bool = True


@dataclass
class Cluster:
    """What the figures read of a node."""

    living: int = 2
    holds_lease: bool = True
    link: Link = dataclasses.field(default_factory=Link)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics([])


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
    cluster = Cluster()
    metrics.watch_runtime(RuntimeCounters(), cluster=cluster)
    value = metrics.registry.get_sample_value
    assert (value("longwire_cluster_redis_up"), value("longwire_cluster_lease_held")) == (1, 1)
    assert value("longwire_cluster_nodes") == 2
    cluster.link.healthy, cluster.link.failures, cluster.holds_lease = False, 7, False
    assert (value("longwire_cluster_redis_up"), value("longwire_cluster_lease_held")) == (0, 0)
    assert value("longwire_cluster_nodes") is None  # nobody knows
    assert value("longwire_cluster_redis_failures_total") == 7


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
    sessions = [Session(3, 300, 1), Session(1, 20, 2, at_risk=True), Session()]
    stop = metrics.watch_runtime(RuntimeCounters(), lambda: sessions)
    value = metrics.registry.get_sample_value
    names = (
        "sessions",
        "get_streams",
        "pending_messages",
        "pending_bytes",
        "sessions_at_risk",
        "messages_at_risk",
    )
    assert [value(f"longwire_mcp_{name}") for name in names] == [3, 3, 4, 320, 1, 1]
    sessions.clear()
    assert [value(f"longwire_mcp_{name}") for name in names] == [0] * 6
    stop()
    assert value("longwire_mcp_sessions") is None
