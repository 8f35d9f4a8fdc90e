"""What tests of the core share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from core_bench import CoreClient, Running, running


@pytest.fixture
def served() -> AbstractAsyncContextManager[Running]:
    """A core with the tools of the bench."""
    return running()


@pytest.fixture
def client() -> AbstractAsyncContextManager[CoreClient]:
    """A client of such a core, with a session."""

    @asynccontextmanager
    async def begun() -> AsyncIterator[CoreClient]:
        async with running() as served:
            yield served.client.begin()

    return begun()
