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
from typing import Generic, TypeVar

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


CallbackT = TypeVar("CallbackT", bound=Callable[..., None])


class _Hooks(Generic[CallbackT]):
    """Callbacks in the order of their registration; any thread may add one."""

    def __init__(self) -> None:
        self.all: tuple[CallbackT, ...] = ()

    def add(self, callback: CallbackT) -> Callable[[], None]:
        """Add a callback; returns a function that undoes it."""
        self.all = (*self.all, callback)

        def remove() -> None:
            self.all = tuple(hook for hook in self.all if hook is not callback)

        return remove


class FrameBoundary:
    """Listeners of one measurement. What registers one returns a function that undoes it."""

    def __init__(self) -> None:
        self.waiter: Waiter | None = None  # the function to wait in while paused
        self._listeners: _Hooks[Listener] = _Hooks()
        self._endings: _Hooks[Listener] = _Hooks()
        self._idlers: _Hooks[Idler] = _Hooks()
        self._viewers: _Hooks[Viewer] = _Hooks()

    def __bool__(self) -> bool:
        """Whether there are listeners; otherwise no snapshot is needed."""
        return bool(self._listeners.all)

    def on_frame(self, callback: Listener) -> Callable[[], None]:
        """Call back at every boundary, in the order of registration."""
        return self._listeners.add(callback)

    def on_pause(self, waiter: Waiter) -> Callable[[], None]:
        """Wait in this function while paused.

        The waiter is called on the feeding thread, repeatedly until the measurement continues.
        """
        self.waiter = waiter

        def remove() -> None:
            if self.waiter is waiter:
                self.waiter = None

        return remove

    def on_idle(self, callback: Idler) -> Callable[[], None]:
        """Call back on the feeding thread, some times a second, while it waits for the next pair."""
        return self._idlers.add(callback)

    def on_pictures(self, callback: Viewer) -> Callable[[], None]:
        """Show the pictures of every frame that is counted, on the feeding thread; any thread may call this.

        The pictures are borrowed for the time of the call.
        """
        return self._viewers.add(callback)

    def on_end(self, callback: Listener) -> Callable[[], None]:
        """Call back once, on the thread that ends the measurement."""
        return self._endings.add(callback)

    @property
    def viewers(self) -> tuple[Viewer, ...]:
        return self._viewers.all

    def notify(self, snapshot: BoundarySnapshot) -> None:
        for listener in self._listeners.all:
            listener(snapshot)

    def idle(self) -> None:
        """Call the idle listeners."""
        for idler in self._idlers.all:
            idler()

    def show(self, index: int, pictures: Pair) -> None:
        """Show the viewers a frame."""
        for viewer in self._viewers.all:
            viewer(index, pictures)

    def end(self, snapshot: BoundarySnapshot) -> None:
        """Call the end listeners: no more frames come."""
        for ending in self._endings.all:
            ending(snapshot)
