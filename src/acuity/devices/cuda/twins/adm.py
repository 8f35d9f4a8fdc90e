"""ADM on the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import Workspace
from acuity.devices.cuda.batch import Batch, Bench, placed
from acuity.devices.cuda.card import Kernel, Memory, Shape
from acuity.devices.cuda.twins.adm_plan import STRIP, AdmLayout
from acuity.features.adm import Adm, AdmGroup
from acuity.features.extractor import CpuContext, Frame, Geometry

_WARP: Final = (32, 1, 1)
_ROWS: Final = (256, 1, 1)  # threads that add up rows
# Programs by how many gain limits they serve in one pass, and whether they sum the additive impairment.
_KINDS: Final = {(1, False): "gain", (2, False): "gains", (1, True): "aim"}
_NAMES: Final = "adm_scale1", "adm_scale2", "adm_scale2"


class _Step(NamedTuple):
    """One launch: a scale, for some of the gain limits."""

    kernel: Kernel
    grid: tuple[int, int]
    input: int  # address of the low-pass bands it reads; 0: the pictures
    plan: Memory
    low: int


class AdmTwin:
    """Sums each scale's bands by rows, then rounds and adds up the rows."""

    def __init__(self, members: Sequence[Adm], geometry: Geometry, bench: Bench) -> None:
        self._group = AdmGroup(members, geometry, CpuContext(Workspace(), ""))
        native = self._group.native
        at_once = 1 if native.aim else 2
        passes = [native.gains[i : i + at_once] for i in range(0, len(native.gains), at_once)]
        kinds = [_KINDS[len(gains), native.aim] for gains in passes]
        skips = not native.plans[0].bands
        fine = ["low"] if skips else kinds
        bench.card.prefetch(
            ["adm", *(f"adm_scale0_{kind}" for kind in fine), *(f"adm_scales_{kind}" for kind in kinds)]
        )
        self._layout = AdmLayout(native.plans, native.gains, native.aim, bench)
        self._rows = placed(bench.card, self._layout.rows().view(np.uint8))
        self._steps: list[_Step] = []
        for number, (gains, kind) in enumerate(zip(passes, kinds, strict=True)):
            name = "adm_scale0_8" if geometry.depth == 8 else "adm_scale0_16"
            kernels = bench.card.kernels(f"adm_scale0_{'low' if skips else kind}", [name])
            kernels += bench.card.kernels(f"adm_scales_{kind}", _NAMES)
            first = number * at_once
            self._steps += self._planned(kernels, gains, first, geometry.depth, bench)
        (self._add_rows,) = bench.card.kernels("adm", ["adm_add_rows"])

    def _planned(
        self, kernels: Sequence[Kernel], gains: Sequence[float], first: int, depth: int, bench: Bench
    ) -> Iterator[_Step]:
        layout = self._layout
        for scale, (kernel, plan) in enumerate(zip(kernels, layout.plans, strict=True)):
            if first > 0 and not plan.bands:
                continue
            _, segments = layout.segments(scale)
            above = layout.lows[scale - 1].address if scale > 0 else 0
            record = placed(bench.card, layout.plan(scale, depth, gains, first).view(np.uint8))
            grid = -(-plan.size[0] // STRIP), segments
            yield _Step(kernel, grid, above, record, layout.lows[scale].address)

    @property
    def words(self) -> int:
        return len(self._layout.plans) * self._layout.row_words

    def launch(self, batch: Batch, sums: int) -> None:
        stream, layout = batch.stream, self._layout
        rows = layout.row_sums.address  # which are 0 before and after
        for kernel, grid, above, plan, low in self._steps:
            kernel(stream, (*grid, batch.count), _WARP, above or batch.frames, plan.address, low, rows)
        whole: Shape = layout.row_words, len(layout.plans), batch.count
        self._add_rows(stream, whole, _ROWS, rows, self._rows.address, np.int32(layout.rows_a_frame), sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._group.figures(self._group.native.outputs(sums.view(np.uint64).tolist()))
