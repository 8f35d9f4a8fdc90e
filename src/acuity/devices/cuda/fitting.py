"""How large batches are: as large as keeps the card busy, or as its free memory allows.

Where memory is too small, the next smaller fit is taken, down to one frame at a time in one stream. If even
that doesn't fit, an error says what would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from acuity.devices.cuda.hardware.card import Bytes, Card
from acuity.devices.cuda.hardware.cuda_errors import in_gib, memory_failure
from acuity.devices.cuda.pictures import Pictures
from acuity.devices.cuda.stage import Stage, TwinGroup
from acuity.errors import CardMemoryError, UnfitPictureError
from acuity.features.extractor import REACH

if TYPE_CHECKING:
    from acuity.features.extractor import Geometry

STREAMS: Final = 3
_SAMPLES: Final = 1 << 24  # of luma in a batch, about: eight frames of 1080p
_MOST: Final = 64  # frames of a batch
_GRAIN: Final = 512  # bytes: memory is given out in multiples of this
# Sizes that are named where larger pictures don't fit, the largest first.
_SIZES: Final = ((3840, 2160), (2560, 1440), (1920, 1080), (1280, 720), (640, 360))


class CardFit(NamedTuple):
    """Frames of a batch, and streams that have one each."""

    most: int
    streams: int

    @property
    def slots(self) -> int:
        """The number of slots: one for each picture of the batches under way and of the pairs before them."""
        return 2 * (self.most * (self.streams + 1) + REACH)


def batch_frames(geometry: Geometry, share: int = 1) -> int:
    """How many frames a batch has at most: enough to fill the card together with all that `share` it."""
    return max(1, min(_MOST, _SAMPLES // (geometry.width * geometry.height)) // share)


def fits(geometry: Geometry, share: int = 1) -> Iterator[CardFit]:
    """The fits for pictures of this geometry, the best one first, each smaller than the one before."""
    most = batch_frames(geometry, share)
    while most > 1:
        yield CardFit(most, STREAMS)
        most //= 2
    for streams in range(STREAMS, 0, -1):
        yield CardFit(1, streams)


class _Idle:
    """Stands for a stream, an event or a kernel and does nothing; each of its methods returns itself."""

    handle = 0

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: object) -> Any:
        return self


class _CountingCard:
    """Stands for a card in stages and twins, and only counts the memory that they ask for."""

    def __init__(self, card: Card) -> None:
        self.properties = card.properties
        self.taken = 0

    def allocate(self, size: int) -> _Counted:
        self.taken += -(-max(size, 1) // _GRAIN) * _GRAIN
        return _Counted(self.taken, size)

    def pinned(self, size: int) -> Bytes:
        return np.empty(size, np.uint8)

    def stream(self) -> _Idle:
        return _Idle()

    def kernels(self, program: str, names: Sequence[str]) -> list[_Idle]:
        return [_Idle() for _ in names]


class _Counted(NamedTuple):
    """Memory that was only counted."""

    address: int
    size: int


class Needs(NamedTuple):
    """The work that memory is needed for."""

    geometry: Geometry
    planes: int | None  # that are read; None: all
    groups: Sequence[TwinGroup]
    uploads: bool = True  # whether pictures are uploaded, and don't lie on the card already


def memory_needed(card: Card, needs: Needs, fit: CardFit) -> int:
    """Bytes of the card that a conveyor takes."""
    counter: Any = _CountingCard(card)
    if needs.uploads:
        pictures = Pictures(counter, needs.geometry, fit.slots)
        pictures.reserve(needs.planes)
        pictures.allocate()
    for _ in range(fit.streams):
        Stage(counter, needs.geometry, fit.most).prepare(needs.planes, needs.groups)
    taken: int = counter.taken
    return taken


def too_small(card: Card, needs: Needs, error: CardMemoryError) -> CardMemoryError:
    """The sentence about a card that has too little memory for a single frame."""
    least, free = CardFit(1, 1), card.free_memory()
    geometry, groups = needs.geometry, needs.groups
    needed = memory_needed(card, needs, least)
    if needed <= free:  # but in pieces, or taken a moment ago
        return error

    def fitting(**others: Any) -> bool:
        try:
            return memory_needed(card, needs._replace(**others), least) <= free
        except UnfitPictureError:
            return False

    names = ", ".join(dict.fromkeys(group.kind.name for group in groups))
    others = [
        f"without {one.kind.name}" for one in groups if fitting(groups=[g for g in groups if g is not one])
    ]
    sizes = []
    for width, height in _SIZES:
        if width * height < geometry.width * geometry.height:
            chroma = geometry.chroma and (
                -(-geometry.chroma[0] * width // geometry.width),
                -(-geometry.chroma[1] * height // geometry.height),
            )
            if fitting(geometry=replace(geometry, width=width, height=height, chroma=chroma)):
                sizes.append(f"at {width}x{height}")
    would = " or ".join([*others[:1], *sizes[:1]])
    frame = f"one frame of {geometry.width}x{geometry.height} needs {in_gib(needed)} for {names}"
    fit = f", which would fit {would}" if would else ""
    return memory_failure(card.properties.label, needed, free, frame + fit)
