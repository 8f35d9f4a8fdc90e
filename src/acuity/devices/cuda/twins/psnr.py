"""PSNR on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import Batch, Bench
from acuity.features.extractor import Frame, Geometry
from acuity.features.psnr import Psnr, PsnrFigures

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
