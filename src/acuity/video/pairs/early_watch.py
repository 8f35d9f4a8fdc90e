"""Keeps what a watch looks at of the first pairs, so that it loads while frames are scored."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

from acuity.video.pairs.glimpse import Glimpse
from acuity.video.picture import Picture

if TYPE_CHECKING:
    from acuity.video.pairs.alignment import Watch

_WATCH: Final = "acuity.video.pairs.alignment"
_BLIND: Final = 8  # pairs in which a watch finds nothing, whatever they show
_WAITING: Final = 24  # pairs until the watch looks at them; from then on it looks at each


class EarlyWatch:
    """Stands before a Watch, which `make` makes; it sees every pair in order, the first ones together."""

    def __init__(self, make: Callable[[], Watch], pairs: int | None) -> None:
        """`pairs` is how many there will be, if that is known."""
        self._make = make
        self._few = pairs is not None and pairs <= _BLIND
        self._watch: Watch | None = None
        self._waiting: list[tuple[Glimpse, Glimpse]] = []
        self._pairs = 0
        self.scored: int | None = None  # pairs, if those after them are only looked at

    @property
    def certain(self) -> bool:
        """Whether it will refuse, and only has to see more frames to say why."""
        return self._watch is not None and self._watch.certain

    def add(self, ref: Picture, dis: Picture) -> None:
        if not self._pairs and not self._few:
            _load_beside()
        self._waiting.append((Glimpse.of(ref, self._pairs), Glimpse.of(dis, self._pairs)))
        self._pairs += 1
        if self._watch is not None or len(self._waiting) >= _WAITING:
            self._look()

    def end(self, ref: Iterable[Picture] = (), dis: Iterable[Picture] = ()) -> None:
        """Look at the last pairs; `ref` and `dis` are the frames after them, of which one has none."""
        if self._pairs > _BLIND:
            self._look().end(ref, dis)

    def leave(self) -> None:
        """Warn of what the pairs so far show: no more are wanted, though the videos go on."""
        if self._pairs > _BLIND:
            self._made().leave(self._taken())

    def _look(self) -> Watch:
        """Show the watch the pairs that wait."""
        watch = self._made()
        for ref, dis in self._taken():
            watch.add(ref, dis)
        return watch

    def _made(self) -> Watch:
        if self._watch is None:
            self._watch = self._make()
        self._watch.scored = self.scored
        return self._watch

    def _taken(self) -> list[tuple[Glimpse, Glimpse]]:
        taken, self._waiting = self._waiting, []
        return taken


def _load_beside() -> None:
    """Load the watch while the first frames are scored."""
    if _WATCH in sys.modules:
        return
    with suppress(RuntimeError):  # the system's limit of threads: then it is loaded when it is wanted
        threading.Thread(target=import_module, args=(_WATCH,), name="acuity-load", daemon=True).start()
