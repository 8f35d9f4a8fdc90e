"""Probing a backend, here and in a worker process."""

from __future__ import annotations

import anyio
import pytest

from acuity.errors import BackendError, JobFailed
from acuity.jobs.job import JobSpec, Progress
from acuity.jobs.service import Jobs, JobsConfig
from acuity.jobs.tasks import probe as probe_task

GREY = 97.428


def test_a_score_and_how_long_it_took() -> None:
    told: list[Progress] = []
    found = probe_task.run({"backend": "cpu"}, told.append)
    assert found["score"] == pytest.approx(GREY, abs=0.001)
    assert found["latency_ms"] > 0
    assert told[-1].done == told[-1].total == 1


def test_a_backend_is_never_replaced() -> None:
    with pytest.raises(BackendError, match="cuda"):
        probe_task.run({"backend": "cuda"}, lambda _: None)


def test_in_a_worker() -> None:
    async def main() -> None:
        config = JobsConfig(workers=1, queue=4, time_limit=60.0, kept=4, data=None)
        async with Jobs(config) as jobs:
            good = JobSpec("probe", {"backend": "cpu"}, "probe_backend", "probe of cpu")
            outcome = await jobs.run(good, client="test")
            assert outcome.document["score"] == pytest.approx(GREY, abs=0.001)
            bad = JobSpec("probe", {"backend": "cuda"}, "probe_backend", "probe of cuda")
            with pytest.raises(JobFailed, match="the backend 'cuda' can't start"):
                await jobs.run(bad, client="test")

    anyio.run(main)
