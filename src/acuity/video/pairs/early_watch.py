"""Keeps what a watch looks at of the first pairs, so that it loads while frames are scored."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from acuity.records import NamedTuple
from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture

if TYPE_CHECKING:
    from acuity.video.pairs.alignment import Watch
    from acuity.video.picture import Signature

# Rows and columns of the middle of a picture, kept to tell whether geometry explains a lag.
_KEPT: Final = (216, 384)
# The same of the pairs whose samples are compared, which have these numbers.
LOOKS: Final = (8, 24, 40)
_PART: Final = (288, 512)

_BLIND: Final = 8  # pairs in which a watch finds nothing, whatever they show
_WAITING: Final = 24  # pairs until the watch looks at them; from then on it looks at each


class Glimpse(NamedTuple):
    """What a watch looks at of a picture, whose own memory is used again."""

    signed: Signature | memoryview | None
    depth: int
    on_card: bool
    middle: memoryview | None = None  # of the luma, unless it lies on a card
    part: memoryview | None = None  # more of it, of the pictures that LOOKS names

    @classmethod
    def of(cls, picture: Picture, number: int) -> Glimpse:
        depth = picture.format.depth
        if isinstance(picture, CardPicture):
            return cls(picture.signed, depth, on_card=True)
        part = _middle(picture, _PART) if number in LOOKS else None
        return cls(picture.signed, depth, False, _middle(picture, _KEPT), part)


def _middle(picture: Picture, most: tuple[int, int]) -> memoryview:
    """A copy of the middle of the luma, at most so many rows and columns, or one more."""
    from acuity import _native

    rows, columns = picture.height, picture.width
    top, left = max(0, (rows - most[0]) // 2), max(0, (columns - most[1]) // 2)
    samples = _native.cut_edges(picture.samples[0], picture.format.depth, top, left)
    return memoryview(samples).cast(picture.format.code, (rows - 2 * top, columns - 2 * left))


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
            self._look().leave()

    def _look(self) -> Watch:
        """Show the watch the pairs that wait."""
        if self._watch is None:
            self._watch = self._make()
        self._watch.scored = self.scored
        waiting, self._waiting = self._waiting, []
        for ref, dis in waiting:
            self._watch.add(ref, dis)
        return self._watch


def _load_beside() -> None:
    """Load what the watch takes while the first frames are scored."""
    if "acuity.video.pairs.alignment" not in sys.modules or "numpy" not in sys.modules:
        threading.Thread(target=_load, name="acuity-load", daemon=True).start()


def _load() -> None:
    import numpy  # noqa: F401

    import acuity.video.pairs.alignment  # noqa: F401
