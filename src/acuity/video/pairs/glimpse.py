"""Glimpse: what is kept of a picture whose memory is used again, to look at pairs later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.records import NamedTuple
from acuity.video.card_picture import CardPicture
from acuity.video.picture import Picture

if TYPE_CHECKING:
    from acuity.video.picture import AnySignature, Memory

# Rows and columns of the middle of a picture, kept to tell whether geometry explains a lag.
_KEPT: Final = (216, 384)
# The same of the pairs whose samples are compared, which have these numbers.
LOOKS: Final = (8, 24, 40)
_PART: Final = (288, 512)


class Glimpse(NamedTuple):
    """What a watch looks at of a picture, whose own memory is used again."""

    signed: AnySignature
    depth: int
    on_card: bool
    middle: Memory | None = None  # of the luma, unless it lies on a card
    part: Memory | None = None  # more of it, of the pictures that LOOKS names

    @classmethod
    def of(cls, picture: Picture, number: int) -> Glimpse:
        depth = picture.format.depth
        if isinstance(picture, CardPicture):
            return cls(picture.signed, depth, on_card=True)
        part = _middle(picture, _PART) if number in LOOKS else None
        return cls(picture.signed, depth, False, _middle(picture, _KEPT), part)


def _middle(picture: Picture, most: tuple[int, int]) -> Memory:
    """A copy of the middle of the luma, at most so many rows and columns, or one more."""
    from acuity import _native

    rows, columns = picture.height, picture.width
    top, left = max(0, (rows - most[0]) // 2), max(0, (columns - most[1]) // 2)
    samples = _native.cut_edges(picture.samples[0], picture.format.depth, top, left)
    return memoryview(samples).cast(picture.format.code, (rows - 2 * top, columns - 2 * left))
