"""Progress of a job: frames per second and time left, and delivery to listeners that may be slow.

Only the newest progress is delivered: a busy listener misses the older ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from longwire.work import Progress

ProgressListener: TypeAlias = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The result of a completed job."""

    id: str
    document: dict[str, Any]


class Pace:
    """Turns the number of frames done into progress with speed and time left, from when it was created."""

    def __init__(self, now: Callable[[], float] = time.monotonic, before: int = 0) -> None:
        """`before` are the frames that were done already and say nothing of the speed."""
        self._now = now
        self._before = before
        self._start = now()

    def progress(self, done: int, total: int | None, mean: float | None) -> Progress:
        """The progress now. An exceeded total is dropped: containers don't always have the right one."""
        if total is not None and done > total:
            total = None
        elapsed = self._now() - self._start
        made = done - self._before
        fps = made / elapsed if made > 0 and elapsed > 0 else None
        left = (total - done) / fps if fps is not None and total is not None else None
        details = {
            "fps": None if fps is None else round(fps, 1),
            "eta_seconds": None if left is None else round(left, 1),
            "mean": mean,
        }
        return Progress(
            float(done), None if total is None else float(total), _line(done, total, **details), details
        )


def _line(
    done: int, total: int | None, fps: float | None, eta_seconds: float | None, mean: float | None
) -> str:
    """`120 of 480 frames, 84.2 fps, 4 s left, mean 93.41`, without the unknown parts."""
    parts = [f"{done} frames" if total is None else f"{done} of {total} frames"]
    if fps is not None:
        parts.append(f"{fps:.1f} fps")
    if eta_seconds is not None:
        parts.append(f"{_duration(eta_seconds)} left")
    if mean is not None:
        parts.append(f"mean {mean:.2f}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


logger: Final = logging.getLogger(__name__)

_GRACE: Final = 0.5  # seconds that a listener has for the last progress


class Forwarder:
    """Delivers progress to one listener. Sending never waits, and at most one progress is held."""

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._newest: Progress | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self._task = asyncio.get_running_loop().create_task(self._forward())

    def send(self, progress: Progress) -> None:
        self._newest = progress
        self._changed.set()

    def drop(self) -> None:
        """Stop at once."""
        self._task.cancel()

    async def finish(self) -> None:
        """Wait until the last progress is delivered, or until the listener is too slow for it."""
        self._closed = True
        self._changed.set()
        try:
            await asyncio.wait_for(asyncio.shield(self._task), _GRACE)
        except TimeoutError:
            logger.debug("a listener is too slow for the last progress")

    async def _forward(self) -> None:
        # A task that ends with an error keeps its stack frame, and with it the listener and its request.
        with suppress(asyncio.CancelledError):
            while True:
                progress, self._newest = self._newest, None
                if progress is not None:
                    try:
                        await self._listener(progress)
                    except Exception as error:  # the client has disconnected; the job may have others
                        logger.debug("a progress listener failed and gets no more: %r", error)
                        return
                elif self._closed:
                    return
                else:
                    self._changed.clear()
                    await self._changed.wait()


@asynccontextmanager
async def forwarding(listener: ProgressListener | None) -> AsyncIterator[set[Forwarder]]:
    """The forwarder to a listener, if there is one; it has the last progress where the block ends well."""
    forwarders = set() if listener is None else {Forwarder(listener)}
    try:
        yield forwarders
        for forwarder in forwarders:
            await forwarder.finish()
    finally:
        for forwarder in forwarders:
            forwarder.drop()
