"""Motion on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import Batch, Bench
from acuity.features.extractor import Frame, Geometry
from acuity.features.motion import Motion

_TILE: Final = 120, 128  # columns and rows of a block
_BLOCK: Final = (128, 1, 1)


class MotionTwin:
    """Sums the magnitudes of the blurred difference from the picture before."""

    words = 1

    def __init__(self, members: Sequence[Motion], geometry: Geometry, bench: Bench) -> None:
        self._members = [(member, member.keys(late=False)) for member in members]
        self._lookback = members[0].lookback
        self._area = geometry.width * geometry.height
        name = "motion_8" if geometry.depth == 8 else "motion_16"
        (self._sad,) = bench.card.kernels("motion", [name])
        self._grid = -(-geometry.width // _TILE[0]), -(-geometry.height // _TILE[1])
        self._size = np.int32(geometry.width), np.int32(geometry.height), np.int32(geometry.depth)

    def launch(self, batch: Batch, sums: int) -> None:
        if not self._lookback:
            return
        grid, before, words = (*self._grid, batch.count), np.int32(self._lookback - 1), np.int32(self.words)
        self._sad(batch.stream, grid, _BLOCK, batch.frames, *self._size, before, sums, words)

    def columns(self, sums: NDArray[np.int64], frames: Sequence[Frame]) -> dict[str, list[float]]:
        changes = (sums[:, 0] / 256.0 / self._area).tolist()
        for number, frame in enumerate(frames):
            if frame.index >= self._lookback:
                break
            changes[number] = 0.0
        found: dict[str, list[float]] = {}
        for member, keys in self._members:
            weighted = [member.weighted(change) for change in changes]
            found.update((key, weighted) for key in keys)
        return found
