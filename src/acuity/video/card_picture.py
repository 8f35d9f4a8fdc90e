"""A picture whose planes lie in the memory of a graphics card."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np

from acuity.video.picture import Picture, PixelFormat, Samples


@dataclass(frozen=True, slots=True)
class CardPlane:
    """Where a plane lies on the card; columns are contiguous. It has the shape and type of an array."""

    address: int
    pitch: int  # bytes from one row to the next
    shape: tuple[int, int]  # rows and columns
    dtype: np.dtype[np.uint8] | np.dtype[np.uint16]


class CardOwner(Protocol):
    """Who has the memory of a card picture, and keeps it for as long as the picture refers to it."""

    def to_host(self, planes: tuple[CardPlane, ...]) -> tuple[Samples, ...]:
        """Copies of planes in the machine's memory, complete when this returns."""
        ...


@dataclass(slots=True)
class CardPicture(Picture):
    """One frame on a card: `planes` are CardPlanes. What reads samples on the CPU asks for host()."""

    card: int = field(default=0, kw_only=True)  # its number
    owner: CardOwner = field(kw_only=True, repr=False, compare=False)
    # The event of that card after which the samples are there; None: they are there already.
    written: Any = field(default=None, kw_only=True, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        planes: tuple[CardPlane, ...],
        format: PixelFormat,
        pts: float | None,
        *,
        card: int,
        owner: CardOwner,
        written: Any = None,
    ) -> CardPicture:
        """A picture of planes on a card."""
        return cls(cast("tuple[Samples, ...]", planes), format, pts, card=card, owner=owner, written=written)

    @property
    def card_planes(self) -> tuple[CardPlane, ...]:
        return cast("tuple[CardPlane, ...]", self.planes)

    def host(self) -> Picture:
        """The same picture in the machine's memory."""
        return Picture(self.owner.to_host(self.card_planes), self.format, self.pts, self.signature)

    def thinned(self, step: int) -> Samples:
        """Every so manieth luma sample in both directions, in the machine's memory."""
        luma = self.card_planes[0]
        rows = -(-luma.shape[0] // step)
        few = CardPlane(luma.address, luma.pitch * step, (rows, luma.shape[1]), luma.dtype)
        return self.owner.to_host((few,))[0][:, ::step]


def on_host(picture: Picture) -> Picture:
    """The picture with samples that the CPU can read."""
    return picture.host() if isinstance(picture, CardPicture) else picture
