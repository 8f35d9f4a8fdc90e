"""VIF on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.card import Argument, Card, Memory
from acuity.features.extractor import Frame, Geometry
from acuity.features.scales import SCALES
from acuity.features.vif import Vif, VifMembers

_TILE: Final = 32, 8  # columns and rows of a block
_BLOCK: Final = (256, 1, 1)
_MOST_GAINS: Final = 4  # that one pass serves
_SHARED: Final = 3  # words of a scale that all gain limits share
_LOG2_BASE: Final = 8 * 30720  # of the least entry of the table of logarithms


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
        names = [f"{step}_{bits}" for bits in (8, 16) for step in ("vif_statistic", "vif_halve")]
        kernels = bench.card.kernels("vif", names)
        first = kernels[:2] if geometry.depth == 8 else kernels[2:]
        self._kernels = [first, *[kernels[2:]] * (len(SCALES) - 1)]
        self._levels, self._stride = _levels(geometry)
        self._planes = bench.card.allocate(max(self._stride * bench.most, 1))
        self._steps = _log2_steps(bench.card)
        self.words = len(SCALES) * (_SHARED + len(self._members.gains))

    def launch(self, batch: Batch, sums: int) -> None:
        for scale, (level, (statistic, halve)) in enumerate(zip(self._levels, self._kernels, strict=True)):
            source: tuple[Argument, ...] = (
                batch.frames,
                self._planes.address + level.offset,
                np.int64(self._stride),
                *map(np.int32, (level.pitch, level.width, level.height, scale, self._depth)),
            )
            at = sums + scale * 8 * self.words // len(SCALES)
            if scale > 0 or not self._members.skip_scale0:
                for first in range(0, len(self._members.gains), _MOST_GAINS):
                    gains = self._members.gains[first : first + _MOST_GAINS]
                    statistic(
                        batch.stream,
                        (*_tiles(level.width, level.height), batch.count),
                        _BLOCK,
                        *source,
                        self._steps.address,
                        *map(np.float64, gains + [0.0] * (_MOST_GAINS - len(gains))),
                        np.int32(len(gains)),
                        np.int32(first),
                        at,
                        np.int32(self.words),
                    )
            if scale + 1 < len(SCALES):
                after = self._levels[scale + 1]
                halve(
                    batch.stream,
                    (*_tiles(after.width, after.height), 2 * batch.count),
                    _BLOCK,
                    *source,
                    self._planes.address + after.offset,
                    np.int32(after.pitch),
                )

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        from acuity import _native

        members = self._members
        return members.figures(
            _native.vif_outputs(sums, gains=len(members.gains), skip_scale0=members.skip_scale0)
        )


def _tiles(width: int, height: int) -> tuple[int, int]:
    return -(-width // _TILE[0]), -(-height // _TILE[1])


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
    from acuity import _native

    steps = np.asarray(_native.vif_log2_steps()) - _LOG2_BASE
    held = card.pinned(2 * len(steps))
    held.view(np.uint16)[:] = steps
    memory = card.allocate(held.nbytes)
    stream = card.stream()
    stream.upload(memory.address, held.nbytes, held.reshape(1, -1))
    stream.mark().wait()
    return memory
