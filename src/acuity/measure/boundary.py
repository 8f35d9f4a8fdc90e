"""The frame boundary: the one place where others may look in or step in while a measurement runs.

Between two frames, on the thread that feeds them, every listener is told where the measurement stands. No
frame is fed while a listener runs, so it may ask for scores, steer, add listeners, or raise to stop the
feeding. A slow listener slows the feeding, not the workers.

While a measurement is paused the feeding thread waits at the boundary too. Whoever steers it can lend the way
to wait: something that returns when there may be news, having dealt with them. While the feeding thread waits
for its next pair, whoever steers is asked now and then whether there is something to do.
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
Waiter = Callable[[], None]
Idler = Callable[[], None]
Ended = Callable[[BoundarySnapshot], None]


class FrameBoundary:
    """Listeners of one measurement."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._endings: tuple[Ended, ...] = ()
        self.waiter: Waiter | None = None  # how to wait while paused
        self._idlers: tuple[Idler, ...] = ()

    def __bool__(self) -> bool:
        """Whether anybody listens; nobody needs to make a snapshot otherwise."""
        return bool(self._listeners)

    def on_frame(self, callback: Listener) -> Callable[[], None]:
        """Call back at every boundary from now on, in the order of registration; the result undoes it."""
        self._listeners = (*self._listeners, callback)

        def remove() -> None:
            self._listeners = tuple(listener for listener in self._listeners if listener is not callback)

        return remove

    def on_pause(self, waiter: Waiter) -> Callable[[], None]:
        """Wait in this way while paused; the result undoes it.

        The waiter is called on the feeding thread, again and again until the measurement goes on.
        """
        self.waiter = waiter

        def remove() -> None:
            if self.waiter is waiter:
                self.waiter = None

        return remove

    def on_idle(self, callback: Idler) -> Callable[[], None]:
        """Call back on the feeding thread, some times a second, while the next pair isn't there yet.

        The result undoes it.
        """
        self._idlers = (*self._idlers, callback)

        def remove() -> None:
            self._idlers = tuple(idler for idler in self._idlers if idler is not callback)

        return remove

    def on_end(self, callback: Ended) -> Callable[[], None]:
        """Call back once, on the thread that flushes or closes the measurement; the result undoes it."""
        self._endings = (*self._endings, callback)

        def remove() -> None:
            self._endings = tuple(ending for ending in self._endings if ending is not callback)

        return remove

    def notify(self, snapshot: BoundarySnapshot) -> None:
        for listener in self._listeners:
            listener(snapshot)

    def idle(self) -> None:
        """The next pair isn't there yet."""
        for idler in self._idlers:
            idler()

    def end(self, snapshot: BoundarySnapshot) -> None:
        """No more frames come."""
        for ending in self._endings:
            ending(snapshot)
