"""Cambi on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity._native import CambiPlan, Workspace
from acuity.devices.cuda.batch import Batch, Bench, cleared, fields, placed
from acuity.features.cambi import Cambi, Judgement
from acuity.features.extractor import CpuContext, Frame, Geometry

_SCALES: Final = 5
_PARTS: Final = 2 * _SCALES  # sums of a picture: the low and the high part of each scale's

# The twins of the records in kernels/cambi/plan.cuh and pool.cuh.
_SCALE: Final = np.dtype(fields("int64 plane map strongest; int32 width height stride pitch across strips"))
_TABLES: Final = {
    **dict.fromkeys(("columns", "rows", "first"), np.int32),
    **dict.fromkeys(("weights", "inverse"), np.float32),
}
_PLAN: Final = np.dtype(
    [
        *fields(f"uint64 {' '.join(_TABLES)}; int64 samples"),
        *fields("int32 width height smooth flat radius base levels steps strips unused"),
        ("scales", _SCALE, _SCALES),
    ]
)
_POOL_BYTES: Final = 4 * 8 + 6 * 4 + (1920 + 2 * 256) * 4

_BORDER: Final = 32  # the largest radius: samples on the left of a plane that are never counted
_AFTER: Final = 64  # the same on the right, where a strip may reach further
_STRIP: Final = 32, 32  # columns and rows that a warp judges
_FLATTENED: Final = 24, 64  # columns and rows that a warp flattens
_WARPS: Final = 4  # of a block that judges or flattens
_SHRUNK: Final = 32, 8  # columns and rows of a block that makes a scale
_CHOOSING: Final = 256  # threads of a block that chooses the strongest contrasts
_CHOSEN: Final = 1 << 14  # contrasts for each block that does, and how many blocks at most
_MOST_CHOOSING: Final = 64
_PASSES: Final = 3


def _groups(number: int, size: int) -> int:
    return -(-number // size)


def _whole(number: int, size: int) -> int:
    return _groups(number, size) * size


class _Layout:
    """Where planes and contrasts of a picture's scales are, and what else its kernels are told."""

    def __init__(self, plan: CambiPlan) -> None:
        record = np.zeros((), _PLAN)
        samples = contrasts = strips = 0
        for scale, (width, height), strongest in zip(
            record["scales"], plan.sizes, plan.strongest, strict=True
        ):
            padded, across = _whole(width, _STRIP[0]), _groups(width, _STRIP[0])
            stride = _BORDER + padded + _AFTER
            scale["plane"], scale["map"], scale["strongest"] = samples + _BORDER, contrasts, strongest
            scale["width"], scale["height"], scale["stride"], scale["pitch"] = width, height, stride, padded
            scale["across"], scale["strips"] = across, strips
            samples += stride * height
            contrasts += padded * height
            strips += across * _groups(height, _STRIP[1])
        record["samples"] = samples
        record["width"], record["height"], record["radius"] = plan.width, plan.height, plan.radius
        record["smooth"], record["flat"] = plan.smooth, plan.flat
        record["base"], record["levels"], record["steps"] = plan.base, len(plan.first), len(plan.weights)
        record["strips"] = strips
        self._record = record
        self._tables = {name: np.array(getattr(plan, name), kind) for name, kind in _TABLES.items()}
        self.samples, self.contrasts, self.strips = samples, contrasts, strips

    def on_card(self, bench: Bench) -> list[Any]:
        """Memory with the tables, and the record, which is last."""
        held = []
        for name, table in self._tables.items():
            if table.size:
                held.append(placed(bench.card, table.view(np.uint8)))
                self._record[name] = held[-1].address
        return [*held, placed(bench.card, self._record.reshape(1).view(np.uint8))]

    def maps(self, contrasts: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The contrasts of each scale."""
        found: list[NDArray[np.float32]] = []
        start = 0
        for scale in self._record["scales"]:
            row, height = int(scale["pitch"]), int(scale["height"])
            found.append(contrasts[start : start + row * height].reshape(height, row))
            start += row * height
        return found


class _Picture:
    """Judges the distorted picture or the reference of each frame."""

    def __init__(self, plan: CambiPlan, reference: bool, depth: int, bench: Bench) -> None:
        self.layout = layout = _Layout(plan)
        self._held = layout.on_card(bench)
        self._plan = int(self._held[-1].address)
        self._planes = cleared(bench.card, bench.most * layout.samples * 2)
        flatten = f"cambi_flatten_{8 if depth == 8 else 16}_{2 if plan.halve else 1}"
        contrast = "cambi_contrast_16" if plan.radius <= 16 else "cambi_contrast_32"
        names = [flatten, "cambi_shrink", contrast, "cambi_choose"]
        self._flatten, self._shrink, self._contrast, self._choose = bench.card.kernels("cambi", names)
        self._source = np.int32(reference), np.int32(depth)
        across = _groups(_groups(plan.width, _FLATTENED[0]), _WARPS)
        self._flatten_grid = across, _groups(plan.height, _FLATTENED[1])
        self._shrink_grids = [
            (_groups(width, _SHRUNK[0]), _groups(height, _SHRUNK[1])) for width, height in plan.sizes
        ]
        self._choose_blocks = min(_groups(plan.sizes[0][0] * plan.sizes[0][1], _CHOSEN), _MOST_CHOOSING)

    def launch(
        self, batch: Batch, maps: tuple[int, np.int64], pools: int, sums: int, words: np.int32
    ) -> None:
        """Write two sums of each scale, from `sums` on."""
        stream, count, planes = batch.stream, batch.count, self._planes.address
        warps = (32 * _WARPS, 1, 1)
        self._flatten(
            stream, (*self._flatten_grid, count), warps, batch.frames, *self._source, self._plan, planes
        )
        for scale in range(1, _SCALES):
            grid = (*self._shrink_grids[scale], count)
            self._shrink(stream, grid, (*_SHRUNK, 1), self._plan, np.int32(scale), planes)
        stream.clear(pools, count * _SCALES * _POOL_BYTES)
        strips = _groups(self.layout.strips, _WARPS), 1, count
        self._contrast(stream, strips, warps, self._plan, planes, *maps, pools)
        for number in range(_PASSES):
            grid = self._choose_blocks, _SCALES, count
            self._choose(
                stream, grid, (_CHOOSING, 1, 1), self._plan, *maps, pools, np.int32(number), sums, words
            )


class CambiTwin:
    """Sums the strongest contrasts of each scale; the CPU's code makes the score of them.

    Contrasts that are to be drawn follow the sums of their frame.
    """

    def __init__(self, members: Sequence[Cambi], geometry: Geometry, bench: Bench) -> None:
        self._judgement = Judgement(members, geometry, CpuContext(Workspace(), ""))
        plans = self._judgement.native.plans
        self._pictures = [
            _Picture(plan, bool(number), geometry.depth, bench) for number, plan in enumerate(plans)
        ]
        drawn = self._pictures[0].layout.contrasts if self._judgement.heatmaps else 0
        self._sums = _PARTS * len(plans)
        self.words = self._sums + drawn // 2
        contrasts = max(picture.layout.contrasts for picture in self._pictures)
        self._maps = bench.card.allocate(bench.most * contrasts * 4)
        self._pools = bench.card.allocate(bench.most * _SCALES * _POOL_BYTES)

    def launch(self, batch: Batch, sums: int) -> None:
        for number, picture in enumerate(self._pictures):
            maps = self._maps.address, np.int64(picture.layout.contrasts)
            if number == 0 and self._judgement.heatmaps:
                maps = sums + 8 * self._sums, np.int64(2 * self.words)
            own = sums + 8 * _PARTS * number
            picture.launch(batch, maps, self._pools.address, own, np.int32(self.words))

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        judgement = self._judgement
        if judgement.heatmaps:
            contrasts = self._pictures[0].layout.maps(sums[self._sums :].view(np.float32))
            judgement.native.draw(contrasts, judgement.heatmaps)
        scores = judgement.native.scores(sums[: self._sums].tolist())
        return judgement.figures(frame.index, scores)
