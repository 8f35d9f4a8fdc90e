"""SSIMULACRA 2 on the card."""

from __future__ import annotations

from collections.abc import Sequence
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
_SUMS: Final = 2 * _MAPS * 16  # of a channel at a scale
_SLAB, _RING = 128, 144  # rows
_DELAY: Final = 4  # rows by which leaving the blur comes after entering
_TAKE: Final = 64, 16  # columns and rows of a block
_ACROSS_ROWS: Final = 32
_DOWN: Final = 128

# The twin of Ssimulacra2Plan in kernels/ssimulacra2/plan.cuh.
_PLAN: Final = np.dtype(
    fields(
        "int32 size[2] chroma[2] stride levels[2]; float32 steps[5] mix[9]; int32 frame_light;"
        "uint64 curve light halved colour across state terms"
    ),
    align=True,
)


class Ssimulacra2Twin:
    """Walks down the scales a slab of rows at a time, and adds errors up in the CPU's order."""

    def __init__(self, members: Sequence[Ssimulacra2], geometry: Geometry, bench: Bench) -> None:
        (member,) = members
        colour = member.colour(geometry)
        self._native = native_ssimulacra2(colour, geometry, CpuContext(Workspace(), ""))
        self._sizes = self._native.sizes
        self.words = len(self._sizes) * _CHANNELS * _SUMS
        stride = -(-geometry.width // 16) * 16
        areas = [width * height for width, height in self._sizes[1:]]
        light = 2 * _CHANNELS * sum(areas)

        plan = np.zeros((), _PLAN)
        black, grey, *steps = self._native.light
        plan["levels"], plan["steps"], plan["mix"] = (black, grey), steps, colour.mix.ravel()
        plan["chroma"], plan["stride"], plan["frame_light"] = geometry.chroma or (0, 0), stride, light
        curve = placed(bench.card, np.array(self._native.curve, np.float32).view(np.uint8))
        self._held: list[CardMemory] = [curve]
        plan["curve"] = curve.address
        floats = {
            "colour": 2 * _CHANNELS * _RING * stride,
            "across": _CHANNELS * _BLURRED * _RING * stride,
            "state": _CHANNELS * _STATE * stride,
            "terms": 2 * _CHANNELS * _MAPS * _SLAB * stride,
            "light": max(light, 1),
        }
        for name, count in floats.items():
            memory = bench.card.allocate(4 * count * bench.most)
            self._held.append(memory)
            plan[name] = memory.address
        first = int(plan["light"])
        self._plans = []
        for scale, size in enumerate(self._sizes):
            plan["size"] = size
            plan["light"] = first + 4 * 2 * _CHANNELS * sum(areas[: scale - 1]) if scale > 0 else 0
            last = scale + 1 == len(self._sizes)
            plan["halved"] = 0 if last else first + 4 * 2 * _CHANNELS * sum(areas[:scale])
            self._plans.append(placed(bench.card, np.frombuffer(plan.tobytes(), np.uint8)))
        names = ["take_8" if geometry.depth == 8 else "take_16", "take_light", "across", "down", "add"]
        kernels = bench.card.kernels("ssimulacra2", [f"ssimulacra2_{name}" for name in names])
        self._take, self._take_light, self._across, self._down, self._add = kernels

    def launch(self, batch: Batch, sums: int) -> None:
        for scale in range(len(self._sizes)):
            self._compare(batch, scale, sums)

    def _compare(self, batch: Batch, scale: int, sums: int) -> None:
        """Compare the pictures at one scale."""
        stream, count, plan = batch.stream, batch.count, self._plans[scale].address
        width, height = self._sizes[scale]
        take = self._take_light if scale else self._take
        take_grid = -(-width // _TAKE[0]), 2 * (_SLAB // _TAKE[1]), count
        words = np.int32(self.words), np.int32(scale * _CHANNELS * _SUMS)
        for slab in range(-(-(height + _DELAY) // _SLAB)):
            number = np.int32(slab)
            if slab * _SLAB < height:
                take(stream, take_grid, (32, 8, 1), batch.frames, plan, number)
                grid = _SLAB // _ACROSS_ROWS, _CHANNELS, count
                self._across(stream, grid, (32 * _BLURRED, 1, 1), plan, number)
            self._down(stream, (-(-width // _DOWN), _CHANNELS, count), (_DOWN, 1, 1), plan, number)
            self._add(stream, (_CHANNELS, 1, count), (_SUMS, 1, 1), plan, sums, *words)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return {"ssimulacra2": self._native.outputs(sums.view(np.float64))}
