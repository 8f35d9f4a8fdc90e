"""Figures for Prometheus, and the small HTTP server that hands them out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fake_responder import FakeResponder
from longwire.operations.figures import Latencies
from longwire.operations.metrics import METHODS, UNKNOWN, Metrics, metrics_pages
from longwire.principals.principal import Principal
from longwire.wire.http.request import Handler, Request
from longwire.work import Job, JobsStats
from pretend_jobs import PretendJobs

ANYBODY = Principal.of_address("127.0.0.1")
JOB = Job("1", "vmaf_score", "a against b", "local", "queued", created=100.0)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(["vmaf_score", "list_models"])


def series(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_what_clients_write_makes_no_series(metrics: Metrics) -> None:
    def count() -> int:
        return sum(len(family.samples) for family in metrics.registry.collect())

    before = count()
    for name in [*(f"tool{number}" for number in range(1000)), None, 5, ["list_models"], 'a"}\nb 1']:
        metrics.called(metrics.tool(name), "error", 0.1)
    assert count() == before
    assert series(metrics, "longwire_mcp_calls_total", tool=UNKNOWN, outcome="error") == 1004


def test_jobs_are_asked_at_each_scrape(metrics: Metrics) -> None:
    jobs = PretendJobs()
    stop = metrics.watch(jobs)
    jobs.figures = JobsStats(
        queued=3, running=2, workers=4, submitted=40, completed=30, failed=4, cancelled=1, workers_lost=2
    )
    plain = ("queued", "running", "workers", "submitted_total", "workers_lost_total")
    assert [series(metrics, f"longwire_jobs_{name}") for name in plain] == [3, 2, 4, 40, 2]
    finished = {"completed": 30, "failed": 4, "interrupted": 0}
    assert finished == {
        name: series(metrics, "longwire_jobs_finished_total", status=name) for name in finished
    }
    jobs.figures = replace(jobs.figures, queued=0)
    assert series(metrics, "longwire_jobs_queued") == 0
    stop()
    assert jobs.listeners == []
    assert series(metrics, "longwire_jobs_queued") is None
    metrics.watch(jobs)  # a second service in the same process


def test_waiting_and_running_are_timed(metrics: Metrics) -> None:
    jobs = PretendJobs()
    metrics.watch(jobs)
    jobs.tell(JOB)
    jobs.tell(replace(JOB, status="running", started=104.0))
    jobs.tell(replace(JOB, status="completed", started=104.0, finished=124.0))
    jobs.tell(replace(JOB, id="2", status="cancelled", finished=130.0))  # never ran
    for name, labels, total in (("queue_wait", {}, 4.0), ("run", {"tool": "vmaf_score"}, 20.0)):
        assert series(metrics, f"longwire_jobs_{name}_seconds_count", **labels) == 1
        assert series(metrics, f"longwire_jobs_{name}_seconds_sum", **labels) == total


def ask(
    pages: Handler, path: str, method: str = "GET", principal: Principal = ANYBODY, **headers: str
) -> FakeResponder:
    responder = FakeResponder()
    pages(Request(method, path, headers=headers, principal=principal), responder)
    return responder


def test_the_page_is_what_prometheus_reads(metrics: Metrics) -> None:
    metrics.watch(PretendJobs())
    pages = metrics_pages(metrics.registry)
    answer = ask(pages, "/metrics")
    modern = ask(pages, "/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert answer.status == 200
    assert answer.kind.startswith(b"text/plain")
    assert answer.headers[b"cache-control"] == b"no-store"
    names = {family.name for family in text_string_to_metric_families(answer.body.decode())}
    assert {"longwire_build_info", "longwire_mcp_calls_in_flight", "longwire_jobs_queued"} <= names
    assert "process_cpu_seconds" in names
    assert not any(name.endswith("_created") for name in names)
    assert modern.kind.startswith(b"application/openmetrics-text")
    assert modern.body.endswith(b"# EOF\n")


def test_health_and_readiness(metrics: Metrics) -> None:
    problems: list[str | None] = ["it rains"]
    pages = metrics_pages(metrics.registry, lambda: problems[0])
    assert ask(pages, "/healthz").status == 200
    refused = ask(pages, "/readyz")
    assert (refused.status, refused.body) == (503, b"not ready: it rains\n")
    problems[0] = None
    assert ask(pages, "/readyz").body == b"ready\n"


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
def test_only_reading_is_possible(metrics: Metrics, path: str) -> None:
    pages = metrics_pages(metrics.registry)
    assert ask(pages, path, "HEAD").status == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = ask(pages, path, method)
        assert answer.status == 405
        assert answer.headers[b"allow"] == b"GET, HEAD"
    assert ask(pages, "/").status == 404
    assert ask(pages, f"{path}/../etc").status == 404


def test_requests_are_timed_by_method(metrics: Metrics) -> None:
    metrics.answered("tools/list", 0.002)
    metrics.answered("tools/list", 0.3)
    for method in ("tools/delist", "", "notifications/cancelled"):
        metrics.answered(method, 1.0)
    counts = {
        method: series(metrics, "longwire_mcp_request_seconds_count", method=method)
        for method in (*METHODS, UNKNOWN, "tools/delist")
    }
    assert counts == {**dict.fromkeys(METHODS, 0), "tools/list": 2, UNKNOWN: 3, "tools/delist": None}
    assert series(metrics, "longwire_mcp_request_seconds_sum", method="tools/list") == 0.302


@given(st.lists(st.floats(0, 2000), max_size=30))
def test_latencies_are_counted_as_the_library_does(seconds: list[float]) -> None:
    bounds = (0.001, 0.5, 1.0, 60.0)
    own, theirs = CollectorRegistry(), CollectorRegistry()
    ours = Latencies("a", "b", "c", ["x", "y"], bounds)
    own.register(ours)
    reference = Histogram("a", "b", ["c"], buckets=bounds, registry=theirs)
    for value in ("x", "y"):
        reference.labels(value)
    for number in seconds:
        ours.observe("x", number)
        reference.labels("x").observe(number)
    assert generate_latest(own) == generate_latest(theirs)


def test_a_token_for_some_tools_reads_no_metrics(metrics: Metrics) -> None:
    limited = Principal.of_token("ci", tools=frozenset({"echo"}))
    assert ask(metrics_pages(metrics.registry), "/metrics", principal=limited).status == 403
