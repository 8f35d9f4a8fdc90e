"""Memory of decoded pictures on the card."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from acuity import _native
from acuity.devices.cuda.nvdec.library import CODECS, Functions
from acuity.devices.cuda.nvdec.packet_stream import Doubt
from acuity.devices.cuda.pictures import Downloads, plane_layouts, slot_bytes
from acuity.errors import CardMemoryError
from acuity.features.extractor import Geometry
from acuity.video.alignment.signature import cells_of, row_step
from acuity.video.card_picture import CardPicture, CardPlane

if TYPE_CHECKING:
    from acuity.devices.cuda.hardware.card import Bytes, Card, CardMemory
    from acuity.video.picture import PixelFormat, Signature

# The kernels that unpack a surface and sum up cells, by the bytes of a sample.
_KERNELS: Final = {1: ("unpack_bytes", "sum_bytes"), 2: ("unpack_words", "sum_words")}
_WORD: Final = 8
_ALIGNED: Final = 256
_FIRST_BLOCK: Final = 48  # pictures that memory is allocated for at first; then for as many again
_LARGEST_BLOCK: Final = 512 << 20  # bytes


class Room:
    """The memory of a picture, which is used anew when nothing refers to the picture any more."""

    def __init__(self, rooms: Rooms, number: int) -> None:
        self._rooms = rooms
        self.number = number

    def __del__(self) -> None:
        self._rooms.give_back(self.number)


class Rooms:
    """Memory for the decoded pictures of one video, and the native decoder that fills it."""

    def __init__(
        self,
        card: Card,
        functions: Functions,
        codec: str,
        size: tuple[int, int],
        format: PixelFormat,
        *,
        luma_only: bool,
        sessions: int,
        most: int,
    ) -> None:
        self._card = card
        self._format = format
        width, height = size
        shapes = format.plane_shapes(width, height)
        chroma = None if luma_only or len(shapes) == 1 else (shapes[1][1], shapes[1][0])
        geometry = Geometry(width, height, format.depth, chroma)
        self._shapes = shapes[: 1 if chroma is None else 3]
        self._planes = plane_layouts(geometry, None)
        self._size = slot_bytes(geometry, None)  # of a picture, after which its sums follow
        self._cells = cells_of(width, height)
        self._sums = math.prod(self._cells) * _WORD  # bytes
        self._downloads = Downloads(card)
        self._blocks: list[tuple[CardMemory, Bytes]] = []
        self._places: list[tuple[int, Signature]] = []  # of each picture, with where it is signed
        luma = self._planes[0]
        first, second = (self._planes[1:] or [luma, luma])[:2]
        with card.in_place():
            kernels = card.kernels("decoded", _KERNELS[format.bytes_per_sample])
            unpack, summing = (kernel.handle for kernel in kernels)
        self.decoder = _native.CardDecoder(
            dict(functions),
            context=card.handle,
            codec=CODECS[codec].number,
            size=size,
            depth=format.depth,
            pitches=(luma.pitch, first.pitch),
            offsets=(first.offset, second.offset),
            chroma=chroma or (0, 0),
            cells=self._cells,
            row_step=row_step(height),
            kernels=(unpack, summing),
            sessions=sessions,
            most=most,
        )
        self.give_back = self.decoder.give_back

    def __del__(self) -> None:
        if hasattr(self, "decoder"):
            self.decoder.close()  # before the memory that it writes to is freed

    def grow(self) -> None:
        """Allocate memory for more pictures; where the card has no more, the present ones have to do."""
        sums = self._sums
        each = -(-(self._size + sums) // _ALIGNED) * _ALIGNED
        count = max(1, min(max(_FIRST_BLOCK, len(self._places)), _LARGEST_BLOCK // each))
        try:
            memory, host = self._card.allocate(count * each), self._card.pinned(count * sums)
        except CardMemoryError as error:
            if not self._places:
                raise Doubt("the card has no memory left for its pictures") from error
            self.decoder.give([])
            return
        signatures = np.zeros((count, math.prod(self._cells)), np.float32)
        self._blocks.append((memory, host))
        given = []
        for number, signature in enumerate(signatures):
            start = memory.address + number * each
            self._places.append((start, signature))
            here = host.ctypes.data + number * sums, signature.ctypes.data
            given.append((start, start + self._size, *here))
        self.decoder.give(given)

    def picture(self, room: Room, pts: float | None) -> CardPicture:
        """The picture in that room, which is shown at that time."""
        address, signature = self._places[room.number]
        planes = tuple(
            CardPlane(address + plane.offset, plane.pitch, shape, self._format.dtype)
            for plane, shape in zip(self._planes, self._shapes, strict=True)
        )
        picture = CardPicture(
            planes,
            self._format,
            pts,
            card=self._card.properties.number,
            fetch=partial(self._downloads.fetch, ready=None),
            owner=room,
        )
        picture.signature = signature.copy().reshape(self._cells)
        return picture
