"""A measurement that is fed by hand in a thread of its own, its server, and the live page in a browser."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import numpy as np

from acuity import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded import ServerAddress
from acuity.measure import Measurement
from acuity.scoring.watched import WatchedRun
from acuity.video.picture import Picture, PixelFormat
from devtools import Chromium, DevTools

MODEL, NEG = "vmaf_v0.6.1", "vmaf_v0.6.1neg"
TOKEN = "a-token-of-this-test-only"
TOTAL = 1000
STATE = "document.body?.dataset.state"
UNNAMED = WatchedRun(total=TOTAL)
WIDTH, HEIGHT = 352, 198


def picture(index: int, noise: float) -> Picture:
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    wave = 120 + 60 * np.sin(columns * 0.06 + index * 0.11) * np.cos(rows * 0.05 - index * 0.03)
    grain = np.random.default_rng(index).normal(0, 1, wave.shape) * noise
    return Picture((np.clip(wave + grain, 0, 255).astype(np.uint8),), PixelFormat("400", 8))


def pair(index: int) -> tuple[Picture, Picture]:
    """A pair whose loss has a course: worst near frames 40, 140, 240."""
    return picture(index, 0.5), picture(index, 2.0 + 9.0 * max(0.0, np.sin((index + 10) * 0.0628)) ** 6)


class LiveGround:
    """The measurement, and where its page is."""

    def __init__(
        self, measurement: Measurement, server: EmbeddedServer, address: ServerAddress, token: str | None
    ) -> None:
        self.measurement = measurement
        self.server = server
        self.base = f"http://{address.host}:{address.port}/"
        self.page = self.base if token is None else f"{self.base}#token={token}"
        self._thread = ThreadPoolExecutor(1)

    async def feed(self, count: int) -> None:
        """Feed some frames, and wait until they are done."""

        def work() -> None:
            for _ in range(count):
                if self.measurement.add(*pair(self.measurement.frames)) is None:
                    return
            while self.measurement.snapshot().frames_done < self.measurement.frames:
                os.sched_yield()

        await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @asynccontextmanager
    async def feeding(self) -> AsyncIterator[None]:
        """Feed one frame after the other, for as long as the block lasts."""
        over = False

        def work() -> None:
            while not over and self.measurement.add(*pair(self.measurement.frames)) is not None:
                pass

        task = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            yield
        finally:
            over = True
            self.measurement.resume(everyone=True)
            await task

    async def flush(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self.measurement.flush)

    async def stop_serving(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.server.close, 0.0)

    def scores(self) -> list[float]:
        return [float(value) for value in self.measurement.results(partial=True).columns["vmaf"]]

    def close(self) -> None:
        self._thread.shutdown()


@asynccontextmanager
async def live_ground(
    token: str | None = TOKEN, *, sse: bool = False, watched: WatchedRun = UNNAMED
) -> AsyncIterator[LiveGround]:
    with Measurement(threads=1) as measurement:
        measurement.add_model(MODEL)
        for headline in watched.metrics:
            measurement.add_feature(headline.metric.feature)
        config = EmbeddedConfig(token=token, linger=0.0)
        with EmbeddedServer(measurement, config, watched=watched) as server:
            ground = LiveGround(
                measurement, server, server.start_sse() if sse else server.start_http(), token
            )
            try:
                yield ground
            finally:
                ground.close()
                await ground.stop_serving()


@asynccontextmanager
async def live_page(
    chromium: Chromium, *, sse: bool = False, watched: WatchedRun = UNNAMED
) -> AsyncIterator[tuple[LiveGround, DevTools]]:
    """The page, opened as the command's address says, once it is live."""
    async with live_ground(sse=sse, watched=watched) as ground, chromium.page() as page:
        await page.resize(1000)
        await page.go(ground.page)
        await page.until(f"{STATE} === 'live'")
        yield ground, page
