"""Whether samples are as deep as the video says, checked on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cpu import check_depths
from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.pictures import plane_layouts

if TYPE_CHECKING:
    from acuity.features.extractor import Frame, Geometry

_BLOCKS: Final = 32  # for each plane
_BLOCK: Final = (256, 1, 1)


def may_be_deeper(depth: int) -> bool:
    """Whether samples of this depth are stored in more bits than they have."""
    return depth not in (8, 16)


class SampleCheck:
    """Refuses frames with samples that exceed the bit depth; has the interface of a twin."""

    words = 1

    def __init__(self, geometry: Geometry, planes: int | None, bench: Bench) -> None:
        self._planes = planes
        count = len(plane_layouts(geometry, planes))
        (self._count,) = bench.card.kernels("samples", ["count_deep"])
        self._grid = _BLOCKS, count
        chroma = geometry.chroma or (0, 0)
        numbers = geometry.width, geometry.height, *chroma, (1 << geometry.depth) - 1
        self._numbers = [np.int32(number) for number in numbers]

    def launch(self, batch: Batch, sums: int) -> None:
        self._count(batch.stream, (*self._grid, batch.count), _BLOCK, batch.frames, *self._numbers, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        """No figures; raises InputError."""
        if sums[0]:
            check_depths(frame, self._planes)
        return {}
