"""The gate: whether the next frame may be fed, may not yet, or will not be any more."""

from __future__ import annotations

import threading

from acuity.errors import ClosedError, InputError
from acuity.measure.boundary import FrameBoundary


class Gate:
    """A pause, which any thread may begin and end, and a frame to stop after."""

    def __init__(self) -> None:
        self.last: int | None = None  # the frame to stop after
        self._open = threading.Event()
        self._open.set()

    @property
    def paused(self) -> bool:
        return not self._open.is_set()

    def pause(self) -> None:
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    def stop_after(self, frame: int | None, fed: int) -> None:
        """Stop after this frame, where so many were fed; None: don't."""
        earliest = max(fed - 1, 0)
        if frame is not None and frame < earliest:
            raise InputError(
                f"the measurement cannot stop after frame {frame}: name {earliest} or a later one"
            )
        self.last = frame

    def is_last(self, fed: int) -> bool:
        """Whether no more may be fed, after so many."""
        return self.last is not None and fed > self.last

    def check(self, fed: int) -> None:
        """Refuse one more frame, where it may not be fed."""
        if self.is_last(fed):
            raise ClosedError(
                f"the measurement was to stop after frame {self.last}: flush it, or feed another"
            )

    def wait(self, boundary: FrameBoundary, fed: int) -> None:
        """Return when there is no pause, or no more to come after it."""
        while self.paused and not self.is_last(fed):
            (boundary.waiter or self._open.wait)()
