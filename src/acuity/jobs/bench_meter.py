"""How far a benchmark is: steps of very different length, one measure of work."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from acuity.jobs.spec import Progress


class Meter:
    """Reports progress in work units (megapixels to be scored, which time is proportional to)."""

    def __init__(
        self, report: Callable[[Progress], None], total: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._report = report
        self._total = total
        self._now = now
        self._start = now()
        self._base = 0.0  # work of the steps that are over

    @contextlib.contextmanager
    def step(self, label: str, work: float, rounds: int, frames: int) -> Iterator[Callable[[int, int], None]]:
        """A part of the work; gives what to call with the round (from 0) and its frames that are done."""
        begun: dict[int, float] = {}  # when a round was first heard of

        def tell(number: int, done: int) -> None:
            passed = self._now() - begun.setdefault(number, self._now())
            reached = self._base + work * (number + done / frames) / rounds
            fps = done / passed if done and passed > 0 else None
            self._tell(f"{label}, round {number + 1} of {rounds}, frame {done} of {frames}", reached, fps)

        try:
            yield tell
        finally:
            self._base += work

    def _tell(self, message: str, reached: float, fps: float | None) -> None:
        elapsed = self._now() - self._start
        left = elapsed * (self._total - reached) / reached if reached > 0 else None
        parts = [message]
        parts += [f"{fps:.1f} fps"] if fps is not None else []
        parts += [f"{left:.0f} s left"] if left is not None else []
        details = {
            "fps": None if fps is None else round(fps, 1),
            "eta_seconds": None if left is None else round(left, 1),
        }
        self._report(Progress(round(reached, 3), round(self._total, 3), ", ".join(parts), details))
