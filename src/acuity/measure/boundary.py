"""The frame boundary: the one place where other code can read or steer a running measurement.

Between two frames, on the feeding thread, every listener gets a snapshot of the measurement. No frame is fed
while a listener runs, so it may read scores, steer, add listeners, or raise to stop the feeding. A slow
listener slows the feeding, not the workers.

While a measurement is paused, the feeding thread waits at the boundary too. A steering server can supply the
function that it waits in, which carries out commands and then returns. While the feeding thread waits for its
next pair, idle listeners are called now and then. Viewers get the pictures of each frame that is counted,
which they may copy but not keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from acuity.features.extractor import Pair


@dataclass(frozen=True, slots=True)
class BoundarySnapshot:
    """The progress of a measurement at a frame boundary."""

    frames_fed: int
    frames_done: int  # by the workers; at most frames_fed
    last_index: int  # of the frame fed last


Listener = Callable[[BoundarySnapshot], None]
Waiter = Callable[[], None]
Idler = Callable[[], None]
Viewer = Callable[[int, Pair], None]  # the frame's number, and its pictures
Ended = Callable[[BoundarySnapshot], None]


class FrameBoundary:
    """Listeners of one measurement."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._endings: tuple[Ended, ...] = ()
        self.waiter: Waiter | None = None  # the function to wait in while paused
        self._idlers: tuple[Idler, ...] = ()
        self.viewers: tuple[Viewer, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are listeners; otherwise no snapshot is needed."""
        return bool(self._listeners)

    def on_frame(self, callback: Listener) -> Callable[[], None]:
        """Call back at every boundary, in the order of registration; returns a function that undoes it."""
        self._listeners = (*self._listeners, callback)

        def remove() -> None:
            self._listeners = tuple(listener for listener in self._listeners if listener is not callback)

        return remove

    def on_pause(self, waiter: Waiter) -> Callable[[], None]:
        """Wait in this function while paused; returns a function that undoes it.

        The waiter is called on the feeding thread, repeatedly until the measurement continues.
        """
        self.waiter = waiter

        def remove() -> None:
            if self.waiter is waiter:
                self.waiter = None

        return remove

    def on_idle(self, callback: Idler) -> Callable[[], None]:
        """Call back on the feeding thread, some times a second, while it waits for the next pair.

        Returns a function that undoes it.
        """
        self._idlers = (*self._idlers, callback)

        def remove() -> None:
            self._idlers = tuple(idler for idler in self._idlers if idler is not callback)

        return remove

    def on_pictures(self, callback: Viewer) -> Callable[[], None]:
        """Show the pictures of every frame that is counted, on the feeding thread; any thread may call this.

        Returns a function that undoes it. The pictures are borrowed for the time of the call.
        """
        self.viewers = (*self.viewers, callback)

        def remove() -> None:
            self.viewers = tuple(viewer for viewer in self.viewers if viewer is not callback)

        return remove

    def on_end(self, callback: Ended) -> Callable[[], None]:
        """Call back once, on the thread that ends the measurement; returns a function that undoes it."""
        self._endings = (*self._endings, callback)

        def remove() -> None:
            self._endings = tuple(ending for ending in self._endings if ending is not callback)

        return remove

    def notify(self, snapshot: BoundarySnapshot) -> None:
        for listener in self._listeners:
            listener(snapshot)

    def idle(self) -> None:
        """Call the idle listeners."""
        for idler in self._idlers:
            idler()

    def show(self, index: int, pictures: Pair) -> None:
        """Show the viewers a frame."""
        for viewer in self.viewers:
            viewer(index, pictures)

    def end(self, snapshot: BoundarySnapshot) -> None:
        """Call the end listeners: no more frames come."""
        for ending in self._endings:
            ending(snapshot)
