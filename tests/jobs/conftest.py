"""Lets worker processes import the tests' own tasks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _workers_find_our_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
