"""Pictures that a decoder's surfaces are unpacked into, on the card and with their signatures."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from acuity.devices.cuda.downloads import Downloads
from acuity.devices.cuda.hardware.card import Bytes, Card, Memory, Stream
from acuity.devices.cuda.nvdec.layout import PictureLayout
from acuity.video.card_picture import CardPicture, CardPlane
from acuity.video.picture import PixelFormat, Samples

_THREADS: Final = 128
_CELL_THREADS: Final = 32
_WORD: Final = 8
_STORED: Final = 16  # bits of a sample in a surface of more than 8 bits, which are the upper ones
_BLOCK: Final = 64 << 20  # bytes that are allocated at once, because that takes as long as decoding a picture
_MOST_SLOTS: Final = 16  # in a block


class _Slot:
    """Memory of one picture, with room for the sums of its cells on both sides."""

    def __init__(self, memory: Memory, address: int, sums: int, host: Bytes) -> None:
        self.memory = memory  # which it is a part of
        self.address = address
        self.sums = sums
        self.host = host
        self.sign: Callable[[], None] | None = None  # sums up the cells once more


class Surface:
    """The memory of a picture, which is used anew when nothing refers to the picture any more."""

    def __init__(self, pool: Surfaces, slot: _Slot) -> None:
        self._pool = pool
        self.slot = slot

    def to_host(self, planes: tuple[CardPlane, ...]) -> tuple[Samples, ...]:
        return self._pool.downloads.fetch(planes, None)

    def __del__(self) -> None:
        self._pool.free.append(self.slot)


class Surfaces:
    """Unpacks a decoder's surfaces into pictures, in the decoder's stream.

    What was unpacked may be read after settle(), which waits for all of it at once.
    """

    def __init__(
        self, card: Card, stream: Stream, width: int, height: int, format: PixelFormat, *, luma_only: bool
    ) -> None:
        self._card = card
        self._stream = stream
        self._layout = layout = PictureLayout(card, width, height, format, luma_only=luma_only)
        self.free: deque[_Slot] = deque()
        self._settled = True
        self.downloads = Downloads(card)
        self._unpack, self._sum = layout.kernels()
        luma = layout.planes[0]
        first, second = (layout.planes[1:] or [luma, luma])[:2]
        across, down = layout.chroma or (0, 0)
        shift = 0 if format.depth == 8 else _STORED - format.depth
        self._numbers: list[np.generic] = [
            *(np.int32(number) for number in (luma.pitch, first.pitch)),
            *(np.int64(number) for number in (first.offset, second.offset)),
            *(np.int32(number) for number in (width, height, across, down, shift)),
        ]
        self._grid = height, 1 if layout.chroma is None else 2, 1
        self._cell_numbers = [
            np.int32(number) for number in (luma.pitch, width, height, *layout.cells, layout.row_step)
        ]

    def unpack(self, luma: int, chroma: int, pitch: int) -> Surface:
        """Begin to unpack a surface, whose planes lie there; what follows in the stream may reuse it."""
        try:
            slot = self.free.popleft()
        except IndexError:
            slot = self._allocate()
        surface = Surface(self, slot)
        to, stream = slot.address, self._stream
        self._settled = False
        self._unpack(stream, self._grid, (_THREADS, 1, 1), luma, chroma, np.int32(pitch), to, *self._numbers)
        if slot.sign is None:
            slot.sign = stream.repeatable(partial(self._sum_cells, slot))
        else:
            slot.sign()
        return surface

    def _sum_cells(self, slot: _Slot) -> None:
        grid, block = (slot.host.nbytes // _WORD, 1, 1), (_CELL_THREADS, 1, 1)
        self._sum(self._stream, grid, block, slot.address, *self._cell_numbers, slot.sums)
        self._stream.download(slot.host, slot.sums)

    def settle(self) -> None:
        """Wait until everything that was unpacked is there."""
        if not self._settled:
            self._stream.mark().wait()
            self._settled = True

    def _allocate(self) -> _Slot:
        """A new slot; others of the same block become free."""
        cells, each = self._layout.sums, self._layout.each
        count = min(max(_BLOCK // each, 1), _MOST_SLOTS)
        memory, host = self._card.allocate(count * each), self._card.pinned(count * cells)
        for number in range(count):
            start, sums = memory.address + number * each, host[number * cells : (number + 1) * cells]
            self.free.append(_Slot(memory, start, start + self._layout.size, sums))
        return self.free.popleft()

    def picture(self, surface: Surface, pts: float | None) -> CardPicture:
        """The picture on a surface that is there, signed."""
        signature = self._layout.means(surface.slot.host.view(np.uint64))
        return self._layout.picture(surface.slot.address, signature, pts, surface)
