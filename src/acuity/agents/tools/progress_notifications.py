"""Sends a job's progress to a client: at a limited rate, always increasing, and always the last one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from acuity.jobs.job import Progress

Send: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

# Eight a second and the last one are at most ten in any second.
_INTERVAL: Final = 0.125
# The protocol requires increasing values, so a change in the queue adds a small step.
_STEP: Final = 0.001


class ProgressNotifications:
    """Passes progress on to `send`, which sends it only if the client asked for it."""

    def __init__(self, send: Send, now: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._now = now
        self._due = float("-inf")
        self._value: float | None = None  # the last one sent
        self._message: str | None = None
        self._unsent: Progress | None = None

    async def send(self, progress: Progress) -> None:
        """Send the progress, or keep it if the last one was sent a moment ago."""
        self._unsent = progress
        if self._now() >= self._due:
            await self.finish()

    async def finish(self) -> None:
        """Send the progress that was kept, if any."""
        progress, self._unsent = self._unsent, None
        if progress is None:
            return
        value = self._next(progress)
        if value is None:
            return
        self._due = self._now() + _INTERVAL
        self._value, self._message = value, progress.message
        await self._send(value, progress.total, progress.message)

    def _next(self, progress: Progress) -> float | None:
        """The value to send; None if nothing is new."""
        if self._value is None or progress.done > self._value:
            return progress.done
        stepped = self._value + _STEP
        if progress.message == self._message or (progress.total is not None and stepped > progress.total):
            return None
        return stepped
