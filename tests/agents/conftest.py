"""Workers of these tests start at once; those of tests/jobs are started by the system."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _prepared(prepared_workers: None) -> None:
    """See prepared_workers.py."""
