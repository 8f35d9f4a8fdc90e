"""What tests of workers share."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from scripted_worker import ScriptedWorker, WorkerCore, fronting


@pytest.fixture
def worker() -> ScriptedWorker:
    """A worker that does as it should, until a test gives it another script."""
    return ScriptedWorker()


@pytest.fixture
def front(worker: ScriptedWorker) -> AbstractAsyncContextManager[WorkerCore]:
    """The core in front of that worker."""
    return fronting(worker)
