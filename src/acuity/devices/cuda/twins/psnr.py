"""PSNR, PSNR-HVS and XPSNR on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity import _native
from acuity.devices.cuda.batch import CHUNK_BLOCK, SINGLE, Batch, Bench, chunks_of, placed
from acuity.features.extractor import Frame, Geometry
from acuity.features.psnr import Psnr, PsnrFigures
from acuity.features.psnr_hvs import PsnrHvs, figures
from acuity.features.xpsnr import Xpsnr, frame_figures, signal_sizes

_ROWS: Final = 8  # of a block
_BLOCK: Final = (256, 1, 1)


class PsnrTwin:
    """Sums the squared differences of each plane."""

    def __init__(self, members: Sequence[Psnr], geometry: Geometry, bench: Bench) -> None:
        self._figures = PsnrFigures(members, geometry)
        self.words = self._figures.planes
        (self._errors,) = bench.card.kernels("psnr", ["psnr_8" if geometry.depth == 8 else "psnr_16"])
        sides = geometry.width, geometry.height, *(geometry.chroma or (0, 0))
        self._sides = [np.int32(side) for side in sides]
        self._grid = -(-max(sides[1], sides[3]) // _ROWS), self.words

    def launch(self, batch: Batch, sums: int) -> None:
        self._errors(batch.stream, (*self._grid, batch.count), _BLOCK, batch.frames, *self._sides, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._figures.of(sums.view(np.uint64).tolist())


_SIDE, _STEP, _AREA = 8, 7, 64  # of PSNR-HVS's blocks
_PLANES: Final = 3
_PAIRS: Final = 64  # blocks of both pictures that a block of threads has: a chunk of the sum
_HVS_BLOCK: Final = (2 * _PAIRS, 1, 1)


class PsnrHvsTwin:
    """Weighs the errors of all blocks, and adds them up in their order."""

    words = _PLANES

    def __init__(self, members: Sequence[PsnrHvs], geometry: Geometry, bench: Bench) -> None:
        if geometry.chroma is None:
            raise ValueError("psnr_hvs needs chroma")
        self._depth = geometry.depth
        self._sizes = [(geometry.width, geometry.height), geometry.chroma, geometry.chroma]
        blocks = [_blocks(width) * _blocks(height) for width, height in self._sizes]
        weigh = "psnr_hvs_8" if geometry.depth == 8 else "psnr_hvs_16"
        names = [weigh, "psnr_hvs_growths", "psnr_hvs_sums"]
        self._weigh, self._grow, self._sum = bench.card.kernels("psnr_hvs", names)
        weights = np.array([_native.hvs_weights(plane) for plane in range(_PLANES)], np.float32)
        self._weights = placed(bench.card, weights.reshape(-1).view(np.uint8))
        self._errors = bench.card.allocate(4 * _AREA * sum(blocks) * bench.most)
        self._places = self._errors.address, np.int64(_AREA * sum(blocks))
        self._counts = np.int64(_AREA * blocks[0]), np.int64(_AREA * blocks[1])
        chunks = [chunks_of(_AREA * count) for count in blocks]
        self._chunks = np.int32(sum(chunks))
        self._chunk_sums = bench.card.allocate(4 * sum(chunks) * bench.most)
        self._growths = bench.card.allocate(SINGLE.itemsize * sum(chunks) * bench.most)
        self._sides = [np.int32(side) for size in self._sizes[:2] for side in size]
        self._grid = -(-max(blocks) // _PAIRS), _PLANES

    def launch(self, batch: Batch, sums: int) -> None:
        stream, count = batch.stream, batch.count
        weights, sides = self._weights.address, self._sides
        places, plain = self._places, (self._chunk_sums.address, self._chunks)
        grid = *self._grid, count
        self._weigh(stream, grid, _HVS_BLOCK, batch.frames, weights, *sides, *places, *plain)
        planes = *places, *self._counts
        self._grow(stream, grid, CHUNK_BLOCK, *planes, *plain, self._growths.address)
        self._sum(
            stream, (_PLANES, 1, count), CHUNK_BLOCK, *planes, self._chunks, self._growths.address, sums
        )

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        totals = sums.view(np.float64).tolist()
        means = [
            _native.hvs_mean(total, *size, self._depth)
            for total, size in zip(totals, self._sizes, strict=True)
        ]
        return figures(*means)


def _blocks(side: int) -> int:
    """How many blocks lie along a side."""
    return (side - _SIDE) // _STEP + 1


_SUMS: Final = 5  # of a block of XPSNR: texture, change, and the squared errors of three planes
_SUM_BLOCK: Final = (128, 1, 1)


class XpsnrTwin:
    """Sums texture, change and errors over blocks; what they weigh is decided on the CPU."""

    def __init__(self, members: Sequence[Xpsnr], geometry: Geometry, bench: Bench) -> None:
        (member,) = members
        self._native = member.kernel(geometry)
        self._sizes = signal_sizes(geometry)
        areas = np.array(self._native.areas, np.int32)
        self.words = len(areas) // 4
        self._areas = placed(bench.card, areas.view(np.uint8))
        (self._sum,) = bench.card.kernels("xpsnr", ["xpsnr_8" if geometry.depth == 8 else "xpsnr_16"])
        planes = 3 if geometry.chroma else 1
        self._grid = self.words // _SUMS, _SUMS - 3 + planes
        self._forms = np.int32(self._native.halved), np.int32(member.fast)

    def launch(self, batch: Batch, sums: int) -> None:
        grid = *self._grid, batch.count
        self._sum(batch.stream, grid, _SUM_BLOCK, batch.frames, self._areas.address, *self._forms, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return frame_figures(self._native.outputs(sums.view(np.uint64)), self._sizes)
