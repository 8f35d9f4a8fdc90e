"""VIF on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import vif_log2_steps, vif_outputs
from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.card import Card, Memory
from acuity.features.extractor import Frame, Geometry
from acuity.features.scales import SCALES
from acuity.features.vif import Vif, VifMembers

_STRIP: Final = 16  # rows of a block
_STEP: Final = 128  # columns that a block filters at a time
_HALO: Final = 16  # more columns than it measures
_STEPS: Final = (4, 4, 2, 1)  # of a block at each scale: small pictures want many blocks
_BLOCK: Final = (128, 1, 1)
_MOST_GAINS: Final = 4  # that one pass serves
_SHARED: Final = 3  # words of a scale that all gain limits share


class _Level(NamedTuple):
    """A scale's size and, above scale 0, where its planes lie: the reference's, then the distorted one's."""

    width: int
    height: int
    pitch: int
    offset: int


class VifTwin:
    """Sums the information of both pictures at four scales, halving them in between."""

    def __init__(self, members: Sequence[Vif], geometry: Geometry, bench: Bench) -> None:
        self._members = VifMembers(members)
        self._depth = geometry.depth
        first, other = bench.card.kernels("vif", ["vif_8" if geometry.depth == 8 else "vif_16", "vif_16"])
        self._kernels = (first, other, other, other)
        self._levels, self._stride = _levels(geometry)
        self._planes = bench.card.allocate(self._stride * bench.most)
        self._steps = _log2_steps(bench.card)
        self.words = len(SCALES) * (_SHARED + len(self._members.gains))

    def launch(self, batch: Batch, sums: int) -> None:
        gains = self._members.gains
        for scale in SCALES:
            limits = [] if scale == 0 and self._members.skip_scale0 else gains
            self._measure(batch, scale, limits[:_MOST_GAINS], 0, sums, self._levels[scale + 1 : scale + 2])
            for first in range(_MOST_GAINS, len(limits), _MOST_GAINS):
                self._measure(batch, scale, limits[first : first + _MOST_GAINS], first, sums, [])

    def _measure(
        self,
        batch: Batch,
        scale: int,
        limits: Sequence[float],
        first: int,
        sums: int,
        halved: Sequence[_Level],
    ) -> None:
        """Add a scale's sums for some gain limits, and halve the pictures if there is a level for them."""
        level = self._levels[scale]
        columns = _STEP * _STEPS[scale] - _HALO
        self._kernels[scale](
            batch.stream,
            (-(-level.width // columns), -(-level.height // _STRIP), batch.count),
            _BLOCK,
            batch.frames,
            self._planes.address + level.offset,
            np.int64(self._stride),
            *map(np.int32, (level.pitch, level.width, level.height, scale, self._depth, _STEPS[scale])),
            self._planes.address + halved[0].offset if halved else 0,
            np.int32(halved[0].pitch if halved else 0),
            self._steps.address,
            *map(np.float64, [*limits, *[0.0] * (_MOST_GAINS - len(limits))]),
            np.int32(len(limits)),
            np.int32(first),
            sums + scale * 8 * self.words // len(SCALES),
            np.int32(self.words),
        )

    def columns(self, sums: NDArray[np.int64], frames: Sequence[Frame]) -> dict[str, NDArray[np.float64]]:
        members = self._members
        gains, skip_scale0 = len(members.gains), members.skip_scale0
        outputs = [vif_outputs(row, gains=gains, skip_scale0=skip_scale0) for row in sums]
        return members.columns(np.array(outputs))


def _levels(geometry: Geometry) -> tuple[list[_Level], int]:
    """The scales, and how many bytes a frame's planes take."""
    levels, used = [], 0
    for scale in SCALES:
        width, height = geometry.width >> scale, geometry.height >> scale
        pitch = -(-2 * width // 256) * 256 if scale else 0
        levels.append(_Level(width, height, pitch, used))
        used += 2 * pitch * height
    return levels, used


def _log2_steps(card: Card) -> Memory:
    """The table of logarithms on the card, as words of 16 bits."""
    steps = np.asarray(vif_log2_steps())
    held = card.pinned(2 * len(steps))
    # In 1/16 and less the mantissa's own bits, because kernels add those to an entry.
    held.view(np.uint16)[:] = 16 * (steps // 8 - 15 * 2048) + 8 + steps % 8 - 8 * np.arange(len(steps))
    memory = card.allocate(held.nbytes)
    stream = card.stream()
    stream.upload(memory.address, held.nbytes, held.reshape(1, -1))
    stream.mark().wait()
    return memory
