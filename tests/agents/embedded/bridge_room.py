"""Both sides of a bridge without a server: commands go in here, frames are fed there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from acuity._native import Bridge
from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.steering.bridge import BoundaryListener, CommandSender
from acuity.agents.embedded.steering.commands import Client, Handoff, ModelLoader
from acuity.measure import BoundarySnapshot, FrameBoundary, Measurement
from moving_pictures import pair

PATIENCE = 30.0  # seconds; reached only where something is broken


class Room:
    """A measurement, and a bridge to it that is attached to the running loop."""

    def __init__(
        self,
        measurement: Measurement | None = None,
        *,
        depth: int = 64,
        max_per_frame: int = 4,
        timeout: float = PATIENCE,
    ) -> None:
        self.measurement = measurement or measuring()
        self.native = Bridge(depth)
        self.handoff = Handoff()
        self.steer = CommandSender(
            self.measurement,
            self.native,
            self.handoff,
            ModelLoader(AllowedPaths([Path("/nowhere")])),
            timeout=timeout,
        )
        self.side = BoundaryListener(
            self.measurement, self.native, self.handoff, max_per_frame=max_per_frame, on_end=self.steer.ended
        )
        self.steer.attach(asyncio.get_running_loop())

    async def send(
        self, command: str, argument: dict[str, Any] | None = None, client: Client | None = None
    ) -> asyncio.Task[dict[str, Any]]:
        """Submit, and return when the command is in the ring."""
        before = self.native.outstanding
        task = asyncio.create_task(self.steer.submit(command, argument, client))
        async with asyncio.timeout(PATIENCE):
            while self.native.outstanding == before and not task.done():
                await asyncio.sleep(0)
        return task

    async def feed(self, count: int = 1) -> None:
        """Feed frames, on another thread."""
        for _ in range(count):
            await asyncio.to_thread(self.measurement.add, *pair(self.measurement.frames))

    def close(self) -> None:
        self.side.detach()
        self.steer.detach()
        self.native.close()
        self.measurement.close()


def measuring(models: Sequence[str] = (), threads: int = 1) -> Measurement:
    """A measurement that is cheap unless it has models."""
    measurement = Measurement(threads=threads)
    for model in models:
        measurement.add_model(model)
    if not models:
        measurement.add_feature("motion")
    return measurement


class Counting:
    """Looks like a measurement to the bridge, and notes what it is told to do."""

    def __init__(self) -> None:
        self.boundary = FrameBoundary()
        self.frames = 0
        self.subsample = 1
        self.told: list[int] = []

    def set_subsample(self, n: int) -> None:
        self.subsample = n
        self.told.append(n)

    def run(self, until: threading.Event) -> None:
        """Boundaries, as fast as they can be."""
        while not until.is_set():
            self.frames += 1
            self.boundary.on_frame.tell(BoundarySnapshot(self.frames, self.frames, self.frames - 1))

    def as_measurement(self) -> Measurement:
        return cast(Measurement, self)
