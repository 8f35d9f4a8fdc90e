"""SSIMULACRA 2 on the card."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity._native import Workspace
from acuity.devices.cuda.batch import Batch, Bench, fields, placed
from acuity.devices.cuda.hardware.card import CardMemory
from acuity.features.extractor import CpuContext, Frame, Geometry
from acuity.features.ssimulacra2 import Ssimulacra2, native_ssimulacra2

_CHANNELS: Final = 3
_BLURRED: Final = 5
_STATE: Final = 2 * 3 * _BLURRED  # past values of the blur down, of a column
_MAPS: Final = 3
_LANES: Final = 16
_CHAINS: Final = 2 * _MAPS * _LANES  # sums of a channel at a scale
_DELAY: Final = 4  # rows by which leaving the blur comes after entering
_MARGIN: Final = 16  # rows of a ring beyond those of a slab
_BAND: Final = 4
_SLAB: Final = 128  # rows of the first scale's slabs are a multiple of these: the last scale has a band
# Slabs that keep so many processors busy, in a usual batch, are whole pictures, up to so many samples.
_PROCESSORS, _SAMPLES = 256, 1 << 24
_TAKE: Final = 64, 16  # columns and rows of a block
_ACROSS_ROWS: Final = 32
_DOWN: Final = 128  # columns of a block
_ADDING: Final = 128  # threads of a block that adds up errors
_CHUNK: Final = 64 * _LANES  # columns of a band whose errors are added up by a block

# The twins of Ssimulacra2Colour and Ssimulacra2Scale in kernels/ssimulacra2/plan.cuh.
_COLOUR: Final = np.dtype(
    fields("int32 chroma[2] levels[2]; float32 steps[5] mix[9]; uint64 curve"), align=True
)
_SCALE: Final = np.dtype(
    fields("int32 size[2] stride rows ring first[3]; uint64 light colour across state errors plain growths"),
    align=True,
)


class Ssimulacra2Twin:
    """Walks down the scales a slab of rows at a time, and adds errors up in the CPU's order."""

    def __init__(self, members: Sequence[Ssimulacra2], geometry: Geometry, bench: Bench) -> None:
        (member,) = members
        colour = member.colour(geometry)
        self._native = native_ssimulacra2(colour, geometry, CpuContext(Workspace(), ""))
        self._sizes = self._native.sizes
        self.words = len(self._sizes) * _CHANNELS * _CHAINS
        self._held: list[CardMemory] = []

        told = np.zeros((), _COLOUR)
        black, grey, *steps = self._native.light
        told["levels"], told["steps"], told["mix"] = (black, grey), steps, colour.mix.ravel()
        told["chroma"] = geometry.chroma or (0, 0)
        told["curve"] = self._place(bench, np.reshape(self._native.curve, (2, -1)).T.astype(np.float32))
        self._colour = self._place(bench, told)

        most = min(geometry.height, _SAMPLES // geometry.width)
        rows = max(most * bench.card.properties.processors // (_PROCESSORS * _SLAB), 1) * _SLAB
        least = max((height + _DELAY) << scale for scale, (_, height) in enumerate(self._sizes))
        rows = min(rows, ceil(least / _SLAB) * _SLAB)
        self._slabs = ceil(least / rows)
        scales = np.zeros(len(self._sizes), _SCALE)
        blocks = np.zeros(3, np.int64)
        for number, (width, height) in enumerate(self._sizes):
            stride, high = ceil(width / _LANES) * _LANES, rows >> number
            scale = scales[number]
            scale["size"], scale["stride"], scale["rows"] = (width, height), stride, high
            scale["ring"], scale["first"] = high + _MARGIN, blocks
            chunks = high // _BAND * ceil(stride / _CHUNK)
            blocks += ceil(high / _ACROSS_ROWS), ceil(stride / _DOWN), chunks
            words = {
                "light": 2 * _CHANNELS * high * stride if number else 0,
                "colour": 2 * _CHANNELS * (high + _MARGIN) * stride,
                "across": _CHANNELS * _BLURRED * (high + _MARGIN) * stride,
                "state": _CHANNELS * _STATE * stride,
                "errors": _CHANNELS * _MAPS * high * stride,
                "plain": _CHANNELS * _CHAINS * chunks,
                "growths": 4 * _CHANNELS * _CHAINS * chunks,
            }
            for name, count in words.items():
                memory = bench.card.allocate(4 * count * bench.most)
                self._held.append(memory)
                scale[name] = memory.address
        first = self._place(bench, scales)
        self._scales = [first + number * _SCALE.itemsize for number in range(len(scales))]
        self._rows = rows
        self._blocks = [int(count) for count in blocks]
        take = "take_8" if geometry.depth == 8 else "take_16"
        names = [take, "take_light", "across", "down", "plain", "reach", "grow", "add"]
        kernels = bench.card.kernels("ssimulacra2", [f"ssimulacra2_{name}" for name in names])
        self._take, self._take_light, self._across, self._down, *self._add_up = kernels

    def _place(self, bench: Bench, values: NDArray[np.generic]) -> int:
        memory = placed(bench.card, np.frombuffer(values.tobytes(), np.uint8))
        self._held.append(memory)
        return memory.address

    def launch(self, batch: Batch, sums: int) -> None:
        stream, count, first = batch.stream, batch.count, self._scales[0]
        across, down, chunks = ((blocks, _CHANNELS, count) for blocks in self._blocks)
        warps = len(self._scales) * _CHAINS, _CHANNELS, count
        plain, reach, grow, add = self._add_up
        for slab in range(self._slabs):
            scales = first, np.int32(len(self._scales)), np.int32(slab)
            added = first, sums, np.int32(self.words), np.int32(slab)
            self._take_colour(batch, slab)
            self._across(stream, across, (32 * _BLURRED, 1, 1), *scales)
            self._down(stream, down, (_DOWN, 1, 1), *scales)
            plain(stream, chunks, (_ADDING, 1, 1), *scales)
            reach(stream, warps, (32, 1, 1), *added)
            grow(stream, chunks, (_ADDING, 1, 1), *scales)
            add(stream, warps, (32, 1, 1), *added)

    def _take_colour(self, batch: Batch, slab: int) -> None:
        for number, (width, height) in enumerate(self._sizes):
            rows = self._rows >> number
            if slab * rows >= height:
                continue
            grid = ceil(width / _TAKE[0]), 2 * ceil(rows / _TAKE[1]), batch.count
            scale, after = [*self._scales, 0][number : number + 2]
            told = self._colour, scale, after, np.int32(slab)
            if number:
                self._take_light(batch.stream, grid, (32, 8, 1), *told)
            else:
                self._take(batch.stream, grid, (32, 8, 1), batch.frames, *told)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return {"ssimulacra2": self._native.outputs(sums.view(np.float64))}
