"""An App served in this process, and a connection to it as the runtime has one."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

from longwire.guard.access import Access
from longwire.settings import WireLimits
from longwire.wire.serving import Serving
from longwire.worker import App
from longwire.worker.run import worker_listening
from worker_ground import Client

EXAMPLE = Path(__file__).parents[2] / "examples" / "workers" / "python" / "worker.py"


@asynccontextmanager
async def served(app: App, path: Path) -> AsyncIterator[Client]:
    """A runtime that has greeted the App; no frame of the App breaks its schema."""
    serving = Serving(app.server(), WireLimits(), {}, Access())
    async with worker_listening(serving, app.introduction, path) as worker:
        app.ready(worker)
        probe = await Client.connect(path, 10)
        await probe.greet()
        yield probe
        probe.close()
        assert probe.problems == []


def example() -> ModuleType:
    """The example worker in Python, as a module."""
    spec = importlib.util.spec_from_file_location("example_worker", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
