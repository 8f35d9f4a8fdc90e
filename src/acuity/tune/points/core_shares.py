"""Divides cores among encodes that run side by side."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from acuity.tune.progress import Stopped

_LOOK: Final = 0.1  # seconds between looks at the stop

# Pictures of so many pixels, and the cores that one encode of them uses well. Small pictures have too little
# to divide, so several encodes at once are faster; large ones also need memory for the encoder's lookahead.
_USEFUL: Final = ((640 * 360, 1), (1280 * 720, 2), (1920 * 1080, 4))
_LARGEST: Final = 8


class CoreShares:
    """The cores of a process, lent to one encode after another in the order of asking."""

    def __init__(self, cores: int) -> None:
        self._free = cores
        self._cores = cores
        self._waiting: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def share(self, size: tuple[int, int], stop: threading.Event) -> Iterator[int]:
        """Wait for cores and give their number; raises Stopped if `stop` is set meanwhile."""
        threads = self._take(_useful(size, self._cores), stop)
        try:
            yield threads
        finally:
            with self._changed:
                self._free += threads
                self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait look at the stop at once."""
        with self._changed:
            self._changed.notify_all()

    def _take(self, useful: int, stop: threading.Event) -> int:
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            try:
                while self._waiting[0] is not turn or self._free < useful:
                    self._changed.wait(_LOOK)
                    if stop.is_set():
                        raise Stopped()
                # One that is alone gets the cores that nobody else asked for.
                threads = self._free if len(self._waiting) == 1 and self._free == self._cores else useful
                self._free -= threads
                return threads
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()


def _useful(size: tuple[int, int], cores: int) -> int:
    pixels = size[0] * size[1]
    return min(cores, next((count for limit, count in _USEFUL if pixels <= limit), _LARGEST))
