"""How decoded pictures lie on the card, and what a decoder's surface is unpacked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.devices.cuda.pictures import plane_layouts, slot_bytes
from acuity.features.extractor import Geometry
from acuity.video.alignment.signature import cells_of, row_step
from acuity.video.card_picture import CardPicture, CardPlane

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.card import Card, Kernel
    from acuity.video.card_picture import CardOwner
    from acuity.video.picture import PixelFormat, Signature

_PROGRAM: Final = "decoded"
_KERNELS: Final = {1: ("unpack_bytes", "sum_bytes"), 2: ("unpack_words", "sum_words")}
_WORD: Final = 8
_ALIGNED: Final = 256


class PictureLayout:
    """The layout of the pictures of one video."""

    def __init__(self, card: Card, width: int, height: int, format: PixelFormat, *, luma_only: bool) -> None:
        self._card = card
        self._format = format
        shapes = format.plane_shapes(width, height)
        self.chroma = None if luma_only or len(shapes) == 1 else (shapes[1][1], shapes[1][0])
        geometry = Geometry(width, height, format.depth, self.chroma)
        self._shapes = shapes[: 1 if self.chroma is None else 3]
        self.planes = plane_layouts(geometry, None)
        self.size = slot_bytes(geometry, None)  # of a picture, after which its sums follow
        self.cells = cells_of(width, height)
        self.row_step = row_step(height)
        self.sums = self.cells[0] * self.cells[1] * _WORD  # bytes
        self.each = -(-(self.size + self.sums) // _ALIGNED) * _ALIGNED

    def kernels(self) -> list[Kernel]:
        """Those that unpack a surface and sum up cells."""
        return self._card.kernels(_PROGRAM, _KERNELS[self._format.bytes_per_sample])

    def picture(self, address: int, signature: Signature, pts: float | None, owner: CardOwner) -> CardPicture:
        """The picture at that address."""
        planes = tuple(
            CardPlane(address + plane.offset, plane.pitch, shape, self._format.dtype)
            for plane, shape in zip(self.planes, self._shapes, strict=True)
        )
        number = self._card.properties.number
        picture = CardPicture.of(planes, self._format, pts, card=number, owner=owner)
        picture.signature = signature.reshape(self.cells)
        return picture
