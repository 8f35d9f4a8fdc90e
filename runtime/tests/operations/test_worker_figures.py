"""Prometheus figures of workers."""

from __future__ import annotations

import re
from pathlib import Path

from longwire.counters import RuntimeCounters
from longwire.operations.metrics import Metrics, WorkerFigures
from longwire.workers.worker import WorkerStatus

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runtime.md").read_text()


class _Two:
    queued = 3

    def statuses(self) -> list[WorkerStatus]:
        return [
            WorkerStatus("w1", "ready", "/a", 7, "php", 2, 10, 0, 0.0),
            WorkerStatus("w2", "waiting", "/b", None, "", 0, 0, 4, 0.0, "it ended"),
        ]

    def drain(self, worker_id: str) -> bool:
        return False

    def restart(self, worker_id: str) -> bool:
        return False


def test_states_queue_events_and_failures_are_figures() -> None:
    metrics, counters = Metrics(["echo"]), RuntimeCounters()
    counters.worker_events["late"] += 2
    counters.worker_failures["worker_lost"] += 1
    forget = metrics.watch_workers(_Two(), counters)
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
    families = WorkerFigures(_Two(), RuntimeCounters()).collect()
    assert told == [family.name + ("_total" if family.type == "counter" else "") for family in families]


def test_tools_whose_names_come_later_get_labels() -> None:
    metrics = Metrics(())
    assert metrics.tool("echo") == "unknown"
    metrics.know(["echo"])
    metrics.called(metrics.tool("echo"), "ok", 0.1)
    assert (
        metrics.registry.get_sample_value("longwire_mcp_calls_total", {"tool": "echo", "outcome": "ok"}) == 1
    )
