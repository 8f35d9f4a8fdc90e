"""A job service for each test that asks for one, whose workers find the tests' own tasks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acuity.jobs.service import Jobs
from job_helpers import config


@pytest.fixture(autouse=True)
def _workers_find_our_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))


@pytest.fixture
def jobs(request: pytest.FixtureRequest) -> Jobs:
    """It runs as long as the test does; with_jobs() changes its configuration."""
    return Jobs(config(**getattr(request, "param", {})))
