"""What tests of the core share."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from core_bench import Running, running


@pytest.fixture
def served() -> AbstractAsyncContextManager[Running]:
    """A core with the tools of the bench."""
    return running()
