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
from typing import Generic, ParamSpec

from acuity.features.extractor import Pair
from acuity.records import Record


class BoundarySnapshot(Record):
    """The progress of a measurement at a frame boundary."""

    frames_fed: int
    frames_done: int  # by the workers; at most frames_fed
    last_index: int  # of the frame fed last


P = ParamSpec("P")


class Hooks(Generic[P]):
    """Callbacks in the order of their registration; any thread may add one."""

    def __init__(self) -> None:
        self.all: tuple[Callable[P, None], ...] = ()

    def __call__(self, callback: Callable[P, None]) -> Callable[[], None]:
        """Add a callback; returns a function that undoes it."""
        self.all = (*self.all, callback)

        def remove() -> None:
            self.all = tuple(hook for hook in self.all if hook is not callback)

        return remove

    def tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for hook in self.all:
            hook(*args, **kwargs)


class FrameBoundary:
    """Listeners of one measurement: `boundary.on_frame(callback)` adds one."""

    def __init__(self) -> None:
        self.waiter: Callable[[], None] | None = None  # the function to wait in while paused
        self.on_frame: Hooks[[BoundarySnapshot]] = Hooks()  # at every boundary, on the feeding thread
        self.on_end: Hooks[[BoundarySnapshot]] = Hooks()  # once, on the thread that ends the measurement
        self.on_idle: Hooks[[]] = Hooks()  # a few times a second while no pair is ready
        # With the number and the pictures of every frame that is counted; these are borrowed for that time.
        self.on_pictures: Hooks[[int, Pair]] = Hooks()

    def on_pause(self, waiter: Callable[[], None]) -> Callable[[], None]:
        """Wait in this function while paused; returns a function that undoes it.

        The waiter is called on the feeding thread, repeatedly until the measurement continues.
        """
        self.waiter = waiter

        def remove() -> None:
            if self.waiter is waiter:
                self.waiter = None

        return remove
