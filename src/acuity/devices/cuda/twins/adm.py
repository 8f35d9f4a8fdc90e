"""ADM on the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import Workspace
from acuity.devices.cuda.batch import Batch, Bench, placed
from acuity.devices.cuda.hardware.card import Kernel, Memory, Shape
from acuity.devices.cuda.twins.adm_plan import STRIP, AdmLayout
from acuity.features.adm import Adm, adm_pass
from acuity.features.extractor import CpuContext, Frame, Geometry

_WARP: Final = (32, 1, 1)
_ROWS: Final = (256, 1, 1)  # threads that add up rows
# Names of kernels end with how many gain limits a pass serves, or say that it sums the impairment too.
_KINDS: Final = {(1, False): "one", (2, False): "two", (1, True): "aim"}
_ADD_ROWS: Final = "adm_add_rows"


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
        self._shared, self._native = adm_pass(members, geometry, CpuContext(Workspace(), ""))
        native = self._native
        self._layout = AdmLayout(native.plans, native.gains, native.aim, bench)
        self._rows = placed(bench.card, self._layout.rows().view(np.uint8))
        at_once = 1 if native.aim else 2
        passes = [native.gains[first : first + at_once] for first in range(0, len(native.gains), at_once)]
        names = [self._names(len(gains), geometry.depth) for gains in passes]
        needed = dict.fromkeys([*chain(*names), _ADD_ROWS])
        kernels = dict(zip(needed, bench.card.kernels("adm", list(needed)), strict=True))
        self._add_rows = kernels[_ADD_ROWS]
        self._steps: list[_Step] = []
        for number, (gains, of_scales) in enumerate(zip(passes, names, strict=True)):
            found = [(name, kernels[name]) for name in of_scales]
            self._steps += self._planned(found, gains, number * at_once, geometry.depth, bench)

    def _names(self, gains: int, depth: int) -> list[str]:
        """The kernels of a pass, one a scale."""
        kind = _KINDS[gains, self._native.aim]
        sample = "8" if depth == 8 else "16"
        fine = kind if self._layout.plans[0].bands else "low"
        return [f"adm_scale0_{sample}_{fine}", f"adm_scale1_{kind}", *[f"adm_scale2_{kind}"] * 2]

    def _planned(
        self,
        kernels: Sequence[tuple[str, Kernel]],
        gains: Sequence[float],
        first: int,
        depth: int,
        bench: Bench,
    ) -> Iterator[_Step]:
        layout = self._layout
        for scale, ((name, kernel), plan) in enumerate(zip(kernels, layout.plans, strict=True)):
            if first > 0 and not plan.bands:
                continue
            segment, segments = layout.segments(scale, name)
            above = layout.lows[scale - 1].address if scale > 0 else 0
            record = placed(bench.card, layout.plan(scale, depth, gains, first, segment).view(np.uint8))
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

    def columns(self, sums: NDArray[np.int64], frames: Sequence[Frame]) -> dict[str, NDArray[np.float64]]:
        outputs = self._native.outputs
        return self._shared.columns(np.array([outputs(row) for row in sums.view(np.uint64).tolist()]))
