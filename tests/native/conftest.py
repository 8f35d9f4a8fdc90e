"""Fixtures of the native tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns often, so that the two sides meet in every state."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
