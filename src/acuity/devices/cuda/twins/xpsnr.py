"""XPSNR on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import Batch, Bench, placed
from acuity.features.extractor import Frame, Geometry
from acuity.features.xpsnr import Xpsnr, frame_figures, signal_sizes

_SUMS: Final = 5  # of a block: texture, change, and the squared errors of three planes
_BLOCK: Final = (128, 1, 1)


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
        self._sum(batch.stream, grid, _BLOCK, batch.frames, self._areas.address, *self._forms, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return frame_figures(self._native.outputs(sums.view(np.uint64)), self._sizes)
