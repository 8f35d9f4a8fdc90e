"""A measurement that is fed by hand, with a server beside it and the official client in front of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity._native import Bridge
from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.assembly import embedded_catalog
from acuity.agents.embedded.config import EmbeddedConfig
from acuity.agents.embedded.live.scores import Scores
from acuity.agents.embedded.live.state import MAX_AGE, LiveState
from acuity.agents.embedded.presence import EndSignals
from acuity.agents.embedded.steering.bridge import BoundaryListener, CommandSender
from acuity.agents.embedded.steering.commands import Handoff, Leases, ModelLoader
from acuity.agents.embedded.tools.computing import embedded_services
from acuity.measure import Measurement
from longwire.product.app import build_server
from moving_pictures import pair
from tool_results import sentence_of

ERAS = ["legacy", "2026-07-28"]
MODEL, NEG = "vmaf_v0.6.1", "vmaf_v0.6.1neg"
SECONDS = 60.0  # for what should take an instant


class Ground:
    """Whatever a test needs to look at."""

    client: Client

    def __init__(
        self, measurement: Measurement, folder: Path, *, depth: int = 8, max_age: float = MAX_AGE
    ) -> None:
        self.measurement = measurement
        self.native = Bridge(depth)
        handoff = Handoff()
        paths = AllowedPaths([folder])
        self.steer = CommandSender(measurement, self.native, handoff, ModelLoader(paths), timeout=SECONDS)
        self.side = BoundaryListener(
            measurement, self.native, handoff, max_per_frame=4, on_end=self.steer.ended
        )
        self.live = LiveState(measurement, self.native, self.side, max_age=max_age)
        self.scores = Scores(self.live)
        self.services, self.compute = embedded_services(paths)
        self.bus = InMemorySubscriptionBus()
        leases = Leases(measurement.gate, lambda _: True)
        shared = self.live, self.scores, self.steer, leases, self.bus, self.services
        self.catalog = embedded_catalog(*shared, EndSignals(), EmbeddedConfig())
        self.server = build_server(self.catalog, name="test", version="1")
        self._schemas = {tool.name: tool.output_schema for tool in self.catalog.tools}
        self._thread = ThreadPoolExecutor(1)  # the one that measures

    async def measuring(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def feed(self, count: int = 1) -> None:
        """Feed some frames, and wait until they are done."""

        def work() -> None:
            for _ in range(count):
                self.measurement.add(*pair(self.measurement.frames))
            while self.measurement.snapshot().frames_done < self.measurement.frames:
                os.sched_yield()

        await self.measuring(work)

    async def flush(self) -> None:
        await self.measuring(self.measurement.flush)

    async def finish(self, count: int = 1) -> None:
        """Feed the last frames."""
        await self.feed(count)
        await self.flush()

    async def steered(self, tool: str, *, by: Client | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool that is answered at the next boundary, and feed the frame that ends there."""
        before = self.native.outstanding
        answered = asyncio.ensure_future(self.ask(tool, by=by, **arguments))
        with anyio.fail_after(SECONDS):
            while self.native.outstanding == before and not answered.done():
                await anyio.lowlevel.checkpoint()
        await self.feed()
        return await answered

    async def ask(self, tool: str, *, by: Client | None = None, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool, which has to be as its schema says."""
        with anyio.fail_after(SECONDS):
            result = await (by or self.client).call_tool(tool, arguments)
        document: dict[str, Any] = result.structured_content
        assert not result.is_error, document
        Draft202012Validator(self._schemas[tool]).validate(document)
        return document

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence that a tool fails with."""
        with anyio.fail_after(SECONDS):
            return sentence_of(await self.client.call_tool(tool, arguments))

    def connected(self, era: str, **options: Any) -> Client:
        """A further client."""
        return Client(self.server, mode=era, **options)

    async def close(self) -> None:
        await self.measuring(self.measurement.close)
        self._thread.shutdown()
        self.side.detach()
        self.steer.detach()
        self.native.close()
        await self.compute.close()


@asynccontextmanager
async def playing(
    folder: Path,
    *models: str,
    features: tuple[str, ...] = (),
    depth: int = 8,
    max_age: float = MAX_AGE,
    **options: Any,
) -> AsyncIterator[Ground]:
    """A ground with a measurement of these models, and a client."""
    measurement = Measurement(**{"threads": 1, **options})
    for model in models:
        measurement.add_model(model)
    for feature in features:
        measurement.add_feature(feature)
    ground = Ground(measurement, folder, depth=depth, max_age=max_age)
    ground.steer.attach(asyncio.get_running_loop())
    try:
        with anyio.fail_after(2 * SECONDS):
            async with ground.connected("legacy") as ground.client:
                yield ground
    finally:
        await ground.close()
