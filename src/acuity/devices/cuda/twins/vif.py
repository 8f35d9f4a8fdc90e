"""VIF on the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import vif_log2_steps, vif_outputs
from acuity.devices.cuda.batch import Batch, Bench, placed
from acuity.devices.cuda.hardware.card import Card, CardMemory, Kernel
from acuity.features.extractor import Frame, Geometry
from acuity.features.scales import SCALES
from acuity.features.vif import Vif, shared_vif

_TILE: Final = 16  # rows and columns that a warp measures at a time
_WARPS: Final = 4  # of a block
_ROOM: Final = 16  # warps that a processor of the card has room for
_BLOCK: Final = (32 * _WARPS, 1, 1)
_MOST_GAINS: Final = 4  # that one pass serves
_SHARED: Final = 3  # words of a scale that all gain limits share
_UNIT: Final = 1.0  # the gain limit that costs least
# Names of kernels end with the gain limits they serve: how many others, and whether 1 is among them.
_KINDS: Final = {(0, False): "halve", (1, False): "one", (0, True): "unit", (1, True): "both"}
_ANY: Final = "any"


class _Level(NamedTuple):
    """A scale's size and, above scale 0, where its planes lie: the reference's, then the distorted one's."""

    width: int
    height: int
    pitch: int
    offset: int


class _Part(NamedTuple):
    """Gain limits that one pass serves."""

    kind: str
    limits: Sequence[float]  # without 1, where the kernel knows that limit by itself
    limit_word: int  # where those begin among all
    unit_word: int
    first: bool  # adds what all limits share, and halves the pictures


_NOTHING: Final = _Part(_KINDS[0, False], (), 0, 0, True)


class VifTwin:
    """Sums the information of both pictures at four scales, halving them in between."""

    def __init__(self, members: Sequence[Vif], geometry: Geometry, bench: Bench) -> None:
        self._shared = shared_vif(members)
        self._skip_scale0 = members[0].flag("vif_skip_scale0")
        self._depth = geometry.depth
        self._room = _ROOM * bench.card.properties.processors
        # The launches: a kernel, its scale, and some of the gain limits.
        self._passes: list[tuple[Kernel, int, _Part]] = self._planned(bench.card)
        self._levels, self._stride = _levels(geometry)
        self._planes = bench.card.allocate(self._stride * bench.most)
        self._steps = _log2_steps(bench.card)
        self.words = len(SCALES) * (_SHARED + len(self._shared.settings))

    def _planned(self, card: Card) -> list[tuple[Kernel, int, _Part]]:
        parts = list(_parts(self._shared.settings))
        wanted = []
        for scale in SCALES:
            samples = "halved" if scale else "8" if self._depth == 8 else "16"
            of_scale = [_NOTHING] if scale == 0 and self._skip_scale0 else parts
            wanted += [(f"vif_{samples}_{part.kind}", scale, part) for part in of_scale]
        names = list(dict.fromkeys(name for name, _, _ in wanted))
        kernels = dict(zip(names, card.kernels("vif", names), strict=True))
        return [(kernels[name], scale, part) for name, scale, part in wanted]

    def launch(self, batch: Batch, sums: int) -> None:
        for kernel, scale, part in self._passes:
            self._measure(batch, kernel, scale, part, sums)

    def _measure(self, batch: Batch, kernel: Kernel, scale: int, part: _Part, sums: int) -> None:
        """Add a scale's sums for some gain limits, and halve the pictures if that is wanted."""
        limits = part.limits
        level = self._levels[scale]
        halved = self._levels[scale + 1 : scale + 2] if part.first else []
        tiles = -(-level.width // _TILE) * -(-level.height // _TILE)
        of_warp = -(-tiles * batch.count // self._room)
        planes, grid = self._planes.address, (-(-tiles // (of_warp * _WARPS)), 1, batch.count)
        read = batch.frames, planes + level.offset, np.int64(self._stride)
        sides = map(np.int32, (level.pitch, level.width, level.height, scale, self._depth, of_warp))
        made = (planes + halved[0].offset, np.int32(halved[0].pitch)) if halved else (0, np.int32(0))
        gains = map(np.float64, [*limits, *[0.0] * (_MOST_GAINS - len(limits))])
        which = map(np.int32, (len(limits), part.first, part.limit_word, part.unit_word))
        words = sums + scale * 8 * self.words // len(SCALES), np.int32(self.words)
        steps = self._steps.address
        kernel(batch.stream, grid, _BLOCK, *read, *sides, *made, steps, *gains, *which, *words)

    def columns(self, sums: NDArray[np.int64], frames: Sequence[Frame]) -> dict[str, NDArray[np.float64]]:
        gains, skip_scale0 = len(self._shared.settings), self._skip_scale0
        outputs = [vif_outputs(row, gains=gains, skip_scale0=skip_scale0) for row in sums]
        return self._shared.columns(np.array(outputs))


def _parts(gains: Sequence[float]) -> Iterator[_Part]:
    """Divide gain limits among passes: common ones have kernels of their own."""
    others = [gain for gain in gains if gain != _UNIT]
    unit = len(others) < len(gains)
    if kind := _KINDS.get((len(others), unit)):
        limit_word = gains.index(others[0]) if others else 0
        yield _Part(kind, others, limit_word, gains.index(_UNIT) if unit else 0, True)
        return
    for first in range(0, len(gains), _MOST_GAINS):
        yield _Part(_ANY, gains[first : first + _MOST_GAINS], first, 0, first == 0)


def _levels(geometry: Geometry) -> tuple[list[_Level], int]:
    """The scales, and how many bytes a frame's planes take."""
    levels, used = [], 0
    for scale in SCALES:
        width, height = geometry.width >> scale, geometry.height >> scale
        pitch = -(-2 * width // 256) * 256 if scale else 0
        levels.append(_Level(width, height, pitch, used))
        used += 2 * pitch * height
    return levels, used


def _log2_steps(card: Card) -> CardMemory:
    """The table of logarithms on the card, as words of 16 bits."""
    steps = np.asarray(vif_log2_steps())
    # In 1/16 and less the mantissa's own bits, because kernels add those to an entry.
    words = 16 * (steps // 8 - 15 * 2048) + 8 + steps % 8 - 8 * np.arange(len(steps))
    return placed(card, words.astype(np.uint16).view(np.uint8))
