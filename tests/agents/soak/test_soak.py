"""A short soak: nothing is lost, doubled or left behind while workers, Redis and a node come and go."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from redis_server import needs_redis
from soak import soak
from soak_bursts import bursts
from soak_clients import Tally
from soak_ground import Ground
from soak_report import Sample, Watched

SECONDS = 20.0
TTL = 8.0
needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here")
LEAST = {"workers_killed": 2, "resumed": 20, "calls": 50}


@needs_redis
@needs_nginx
def test_bursts_come_whole() -> None:
    """In Redis, through a worker's socket, to one client and to many."""
    tally = Tally()
    anyio.run(bursts, tally, 2_000, 40)
    assert (tally.faults, tally.strange) == ({}, [])
    assert tally.counts["burst_messages"] == 2_000
    assert tally.counts["announced_messages"] == 40 * 40


@needs_redis
@needs_nginx
def test_a_short_soak(tmp_path: Path) -> None:
    with Ground(tmp_path, TTL) as ground:
        report = anyio.run(soak, ground, SECONDS, 0, LEAST)
    print("\n".join(report.lines()))
    assert report.faults == {}, report.lines()
    assert {name: many for name, many in report.left.items() if many} == {}
    assert report.events["redis_restarts"] == report.events["nodes_rolled"] == 1
    seen = {**report.counts, **report.events}
    assert {name: many for name, many in LEAST.items() if seen.get(name, 0) < many} == {}


def test_a_process_that_takes_another_ones_place_may_become_as_large() -> None:
    def node(*memory: int, before: Watched | None = None) -> Watched:
        return Watched("node", 1, before, [Sample(0.0, rss << 20, 0, 0) for rss in memory])

    old, young = node(150, 230, 230, 230), (60, 200, 230, 240)
    assert old.is_flat()
    assert node(*young, before=old).is_flat()
    assert not node(*young).is_flat()
    assert not node(60, 200, 230, 270, before=old).is_flat()
