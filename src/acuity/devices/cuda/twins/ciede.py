"""CIEDE2000 on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import CHUNK_BLOCK, DOUBLE, Batch, Bench, chunks_of
from acuity.devices.cuda.hardware.card import Shape
from acuity.features.ciede import SHIFTS, Ciede, figures
from acuity.features.extractor import Frame, Geometry
from acuity.video.picture import PixelFormat

_TILE: Final = 32, 8  # columns and rows of a block
_EACH: Final = 16  # numbers of a frame's sum are a multiple of these


class CiedeTwin:
    """Compares the colours of all pixels, and adds their differences up in their order."""

    def __init__(self, members: Sequence[Ciede], geometry: Geometry, bench: Bench) -> None:
        width, height = geometry.width, geometry.height
        # Pictures of a single column or row may be of several layouts, which differ in where chroma is
        # found: there is a sum for each.
        self._layouts = [name for name in SHIFTS if _chroma(name, geometry) == geometry.chroma]
        self.words = len(self._layouts)
        self._pixels = width * height
        name = "ciede_8" if geometry.depth == 8 else "ciede_16"
        names = [name, "ciede_chunks", "ciede_growths", "ciede_sum"]
        self._compare, self._add, self._grow, self._sum = bench.card.kernels("ciede", names)
        count = -(-self._pixels // _EACH) * _EACH
        self._terms = bench.card.allocate(4 * count * bench.most)
        self._places = self._terms.address, np.int64(count)
        self._chunks = chunks_of(count)
        self._chunk_sums = bench.card.allocate(4 * self._chunks * bench.most)
        self._growths = bench.card.allocate(DOUBLE.itemsize * self._chunks * bench.most)
        self._sides = [np.int32(n) for n in (width, height, geometry.depth, *(geometry.chroma or (0, 0)))]
        self._grid = -(-width // _TILE[0]), -(-height // _TILE[1])

    def launch(self, batch: Batch, sums: int) -> None:
        grid = *self._grid, batch.count
        for number, layout in enumerate(self._layouts):
            shifts = [np.int32(shift) for shift in SHIFTS[layout]]
            block = *_TILE, 1
            self._compare(batch.stream, grid, block, batch.frames, *self._sides, *shifts, *self._places)
            chunks: Shape = self._chunks, 1, batch.count
            plain, growths = self._chunk_sums.address, self._growths.address
            self._add(batch.stream, chunks, CHUNK_BLOCK, *self._places, plain)
            self._grow(batch.stream, chunks, CHUNK_BLOCK, *self._places, plain, growths)
            place = np.int32(self.words), np.int32(number)
            self._sum(batch.stream, (1, 1, batch.count), CHUNK_BLOCK, *self._places, growths, sums, *place)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        total = sums.view(np.float64)[self._layouts.index(frame.ref.format.layout)]
        return figures(float(total), self._pixels)


def _chroma(layout: str, geometry: Geometry) -> tuple[int, int]:
    """Columns and rows of the chroma planes of a layout."""
    rows, columns = PixelFormat(layout, geometry.depth).plane_shapes(geometry.width, geometry.height)[1]
    return columns, rows
