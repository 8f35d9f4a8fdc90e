"""The frame boundary: the one place where others may look in or step in while a measurement runs.

Between two frames, on the thread that feeds them, every listener is told where the measurement stands. No
frame is fed while a listener runs, so it may ask for scores, add listeners, or raise to stop the feeding. A
slow listener slows the feeding, not the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoundarySnapshot:
    """Where a measurement stands."""

    frames_fed: int
    frames_done: int  # by the workers; at most frames_fed
    last_index: int  # of the frame fed last


Listener = Callable[[BoundarySnapshot], None]


class FrameBoundary:
    """Listeners of one measurement."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()

    def __bool__(self) -> bool:
        """Whether anybody listens; nobody needs to make a snapshot otherwise."""
        return bool(self._listeners)

    def on_frame(self, callback: Listener) -> Callable[[], None]:
        """Call back at every boundary from now on, in the order of registration; the result undoes it."""
        self._listeners = (*self._listeners, callback)

        def remove() -> None:
            self._listeners = tuple(listener for listener in self._listeners if listener is not callback)

        return remove

    def notify(self, snapshot: BoundarySnapshot) -> None:
        for listener in self._listeners:
            listener(snapshot)
