"""ADM on the card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import AdmPlan, Workspace
from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.card import Kernel, Memory, Shape
from acuity.features.adm import Adm, AdmGroup
from acuity.features.extractor import CpuContext, Frame, Geometry

# The twins of records in the kernels: AdmGain and AdmPlan of adm_plan.cuh, AdmRows of adm.cu.
_GAIN: Final = np.dtype([("value", np.float64), ("times", np.uint32), ("most", np.uint32)], align=True)
_PLAN: Final = np.dtype(
    [
        ("input", np.int32, 2),
        ("size", np.int32, 2),
        ("rows", np.int32, 2),
        ("columns", np.int32, 2),
        ("segment", np.int32),
        ("scale", np.int32),
        ("depth", np.int32),
        ("factor", np.uint32, 3),
        ("cos_squared", np.float32),
        ("cube_shift", np.int32, 3),
        ("den_shift", np.int32),
        ("cube_add", np.uint32, 3),
        ("den_add", np.uint32),
        ("input_pitch", np.int32),
        ("low_pitch", np.int32),
        ("input_size", np.int64),
        ("low_size", np.int64),
        ("row_words", np.int32),
        ("rows_a_frame", np.int32),
        ("rows_before", np.int32),
        ("first_word", np.int32),
        ("first_pass", np.int32),
        ("gain", _GAIN, 2),
    ],
    align=True,
)
_ROWS: Final = np.dtype(
    [
        ("before", np.int32),
        ("rows", np.int32, 2),
        ("shift", np.int32),
        ("den_shift", np.int32),
        ("add", np.uint64, 3),
        ("den_add", np.uint64),
    ],
    align=True,
)
_SCALES: Final = np.dtype([("scale", _ROWS, 4)])

_STRIP: Final = 60  # columns of the bands that a warp sums
_LEAST_ROWS: Final = 2  # of a segment; two more are made for its neighbours
_WARPS_A_PROCESSOR: Final = 32, 16, 16, 16  # that a batch is cut into, by scale
_LOW_BYTES: Final = 2, 4, 4, 0  # of a sample of each scale's low-pass band; nobody reads the last

# Programs by how many gain limits they serve in one pass, and whether they sum the additive impairment.
_PROGRAMS: Final = {(1, False): "adm_gain", (2, False): "adm_gains", (1, True): "adm_aim"}
_LOW_PROGRAM: Final = "adm_low"


class _Low(NamedTuple):
    """Low-pass bands of a scale: for each frame the reference's, then the distorted picture's."""

    memory: Memory | None
    pitch: int
    size: int  # bytes of one


class _Step(NamedTuple):
    """One launch: a scale, for some of the gain limits."""

    kernel: Kernel
    grid: tuple[int, int]
    plan: NDArray[np.void]
    input: int  # address of the low-pass bands it reads; 0 for the pictures
    low: int


class AdmTwin:
    """Sums each scale's bands by rows, then rounds and adds up the rows."""

    def __init__(self, members: Sequence[Adm], geometry: Geometry, bench: Bench) -> None:
        self._group = AdmGroup(members, geometry, CpuContext(Workspace(), ""))
        native = self._group.native
        self._row_words = 3 + len(native.gains) * (6 if native.aim else 3)
        self._rows = sum(plan.size[1] for plan in native.plans)
        self._row_sums = bench.card.allocate(bench.most * self._frame_bytes)
        self._lows = [
            _low_bands(bench, plan, sample) for plan, sample in zip(native.plans, _LOW_BYTES, strict=True)
        ]
        self._scales = _rows_by_scale(native.plans)
        self._steps = list(self._planned(geometry, bench))
        (self._add_rows,) = bench.card.kernels("adm", ["adm_add_rows"])

    @property
    def words(self) -> int:
        return len(self._lows) * self._row_words

    @property
    def _frame_bytes(self) -> int:
        return self._rows * self._row_words * 8

    def launch(self, batch: Batch, sums: int) -> None:
        stream, rows = batch.stream, self._row_sums.address
        stream.clear(rows, batch.count * self._frame_bytes)
        for step in self._steps:
            step.kernel(
                stream,
                (*step.grid, batch.count),
                (32, 1, 1),
                step.input or batch.frames,
                step.plan,
                step.low,
                rows,
            )
        grid: Shape = self._row_words, len(self._lows), batch.count
        self._add_rows(stream, grid, (32, 1, 1), rows, self._scales, np.int32(self._rows), sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._group.figures(self._group.native.outputs(sums.view(np.uint64).tolist()))

    def _planned(self, geometry: Geometry, bench: Bench) -> Iterator[_Step]:
        native = self._group.native
        scale0 = "adm_scale0_8" if geometry.depth == 8 else "adm_scale0_16"
        names = [scale0, "adm_scale1", "adm_scale2", "adm_scale2"]
        at_once = 1 if native.aim else 2
        for first in range(0, len(native.gains), at_once):
            gains = native.gains[first : first + at_once]
            kernels = bench.card.kernels(_PROGRAMS[len(gains), native.aim], names)
            before = 0
            for scale, (plan, kernel) in enumerate(zip(native.plans, kernels, strict=True)):
                if not plan.bands:
                    (kernel,) = bench.card.kernels(_LOW_PROGRAM, names[scale : scale + 1])
                if plan.bands or first == 0:
                    yield self._step(scale, kernel, geometry.depth, bench, gains, first, before)
                before += plan.size[1]

    def _step(
        self,
        scale: int,
        kernel: Kernel,
        depth: int,
        bench: Bench,
        gains: list[float],
        first: int,
        before: int,
    ) -> _Step:
        native = self._group.native
        plan, low = native.plans[scale], self._lows[scale]
        record = np.zeros((), _PLAN)
        for name in ("input", "size", "rows", "columns", "cos_squared"):
            record[name] = getattr(plan, name)
        record["scale"], record["depth"], record["factor"] = scale, depth, plan.factors
        record["cube_shift"], record["cube_add"] = plan.cube_shifts, plan.cube_adds
        record["den_shift"], record["den_add"] = plan.den_cube_shift, plan.den_cube_add
        above = self._lows[scale - 1] if scale > 0 else _Low(None, 0, 0)
        record["input_pitch"], record["input_size"] = above.pitch, above.size
        record["low_pitch"], record["low_size"] = low.pitch, low.size
        record["row_words"], record["rows_a_frame"] = self._row_words, self._rows
        record["rows_before"] = before
        record["first_word"], record["first_pass"] = 3 + first * (6 if native.aim else 3), first == 0
        for number, gain in enumerate(gains):
            record["gain"][number] = _gain(gain)
        strips = -(-plan.size[0] // _STRIP)
        segments = max(
            1, bench.card.properties.processors * _WARPS_A_PROCESSOR[scale] // (strips * bench.most)
        )
        segment = max(_LEAST_ROWS, -(-plan.size[1] // segments))
        record["segment"] = segment
        grid = strips, -(-plan.size[1] // segment)
        return _Step(
            kernel,
            grid,
            record,
            above.memory.address if above.memory else 0,
            low.memory.address if low.memory else 0,
        )


def _low_bands(bench: Bench, plan: AdmPlan, sample: int) -> _Low:
    if sample == 0:
        return _Low(None, 0, 0)
    pitch = -(-plan.size[0] * sample // 256) * 256
    size = pitch * plan.size[1]
    return _Low(bench.card.allocate(bench.most * 2 * size), pitch, size)


def _rows_by_scale(plans: Sequence[AdmPlan]) -> NDArray[np.void]:
    record = np.zeros((), _SCALES)
    before = 0
    for rows, plan in zip(record["scale"], plans, strict=True):
        rows["before"] = before
        if plan.bands:
            rows["rows"] = plan.rows
        rows["shift"], rows["add"] = plan.row_shift, plan.row_adds
        rows["den_shift"], rows["den_add"] = plan.den_row_shift, plan.den_row_add
        before += plan.size[1]
    return record


def _gain(limit: float) -> tuple[float, int, int]:
    """A record of _GAIN; limits that are whole multiply as integers."""
    whole = limit.is_integer() and 1 <= limit <= 1024
    return limit, int(limit) if whole else 0, int(0xFFFFFFFF // limit)
