"""How fast frames go by: frames in a second, the time that is left, and a line that says it to people."""

from __future__ import annotations

import time
from collections.abc import Callable

from acuity.jobs.spec import Progress


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
