"""Progress of a job: how fast frames go by, and handing it to a listener that may be slow.

Only the newest progress counts: a listener that is busy misses the older ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from acuity.jobs.job import Progress, ProgressListener


class Pace:
    """Counts from when it is made; feed it the frames done so far."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._start = now()

    def progress(self, done: int, total: int | None, mean: float | None) -> Progress:
        """How far the work is. A total that was passed is none: containers don't always know."""
        if total is not None and done > total:
            total = None
        elapsed = self._now() - self._start
        fps = done / elapsed if done and elapsed > 0 else None
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
    """`120 of 480 frames, 84.2 fps, 4 s left, mean 93.41`, less what is not known."""
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

_PATIENCE: Final = 0.5  # seconds that a listener gets for the last one


class Forwarder:
    """Calls a listener one progress at a time. Telling never waits, and holds one progress at most."""

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener
        self._newest: Progress | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self._task = asyncio.get_running_loop().create_task(self._forward())

    def tell(self, progress: Progress) -> None:
        self._newest = progress
        self._changed.set()

    def drop(self) -> None:
        """Stop at once."""
        self._task.cancel()

    async def finish(self) -> None:
        """Stop after the last one, or when the listener is too slow for it."""
        self._closed = True
        self._changed.set()
        try:
            await asyncio.wait_for(asyncio.shield(self._task), _PATIENCE)
        except TimeoutError:
            logger.debug("a listener is too slow for the last progress")
        finally:
            self._task.cancel()

    async def _forward(self) -> None:
        # A task that ends with an error keeps its frame, and that one the listener with its whole request.
        with suppress(asyncio.CancelledError):
            await self._forward_all()

    async def _forward_all(self) -> None:
        while True:
            progress, self._newest = self._newest, None
            if progress is not None:
                try:
                    await self._listener(progress)
                except Exception as error:  # whoever listened is gone; the work isn't theirs alone to stop
                    logger.debug("nobody listens to progress any more: %r", error)
                    return
            elif self._closed:
                return
            else:
                self._changed.clear()
                await self._changed.wait()
