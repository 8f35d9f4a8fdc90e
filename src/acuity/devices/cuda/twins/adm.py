"""ADM on the card. Records are the twins of those in kernels/adm/plan.cuh and kernels/adm.cu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity._native import AdmPlan, Workspace
from acuity.devices.cuda.batch import Batch, Bench, cleared, fields, placed
from acuity.devices.cuda.hardware.card import CardMemory, Kernel, Shape
from acuity.features.adm import Adm, adm_pass
from acuity.features.extractor import CpuContext, Frame, Geometry

_GAIN: Final = np.dtype(fields("float64 value; uint32 times most"), align=True)
_PLAN: Final = np.dtype(
    [
        *fields(
            "int32 input[2] size[2] rows[2] columns[2] segment scale depth;"
            "uint32 factors[3]; float32 cos_squared; int32 cube_shifts[3] den_cube_shift;"
            "uint32 cube_adds[3] den_cube_add; int32 input_pitch low_pitch; int64 input_size low_size;"
            "int32 row_words rows_a_frame rows_before first_word first_pass"
        ),
        ("gain", _GAIN, 2),
    ],
    align=True,
)
_NATIVE: Final = (
    *("input", "size", "rows", "columns", "factors", "cos_squared"),
    *("cube_shifts", "cube_adds", "den_cube_shift", "den_cube_add"),
)
_ROW_RECORD: Final = np.dtype(
    fields("int32 before rows[2] row_shift den_row_shift; uint64 row_adds[3] den_row_add"), align=True
)

_STRIP: Final = 60  # columns of the bands that a warp sums
_LEAST_ROWS: Final = 2  # of a segment; two more are made for its neighbours
# Warps that a processor of the card has room for, by the beginning of a kernel's name: see kernels/adm.cu. A
# batch is cut into as many, because a few more would begin when the others end.
_ROOM: Final = {
    "adm_scale0_8_one": 28,
    "adm_scale0_8_low": 28,
    "adm_scale0_8": 20,
    "adm_scale0_16": 16,
    "adm_scale1": 16,
    "adm_scale2": 12,
}
_LOW_BYTES: Final = 2, 4, 4, 0  # bytes of a sample of each scale's low-pass band; nothing reads the last


class _LowBands(NamedTuple):
    """Low-pass bands of a scale: for each frame the reference's, then the distorted picture's."""

    address: int
    pitch: int
    size: int  # bytes of one
    memory: CardMemory | None  # which they are in


class _Layout:
    """How the sums of rows and the low-pass bands lie on the card."""

    def __init__(self, plans: Sequence[AdmPlan], gains: Sequence[float], aim: bool, bench: Bench) -> None:
        self.plans = plans
        self.words_a_gain = 6 if aim else 3
        self.row_words = 3 + len(gains) * self.words_a_gain
        self.rows_a_frame = sum(plan.size[1] for plan in plans)
        self._bench = bench
        self.row_sums = cleared(bench.card, bench.most * self.rows_a_frame * self.row_words * 8)
        self.lows = [_low_bands(plan, sample, bench) for plan, sample in zip(plans, _LOW_BYTES, strict=True)]

    def segments(self, scale: int, kernel: str) -> tuple[int, int]:
        """How many rows a segment of a scale has for a kernel, and how many segments there are."""
        columns, rows = self.plans[scale].size
        strips = -(-columns // _STRIP) * self._bench.most
        room = next(warps for name, warps in _ROOM.items() if kernel.startswith(name))
        wanted = self._bench.card.properties.processors * room // strips
        segment = max(_LEAST_ROWS, -(-rows // max(wanted, 1)))
        return segment, -(-rows // segment)

    def plan(
        self, scale: int, depth: int, gains: Sequence[float], first: int, segment: int
    ) -> NDArray[np.void]:
        """The record of a scale, in the pass that begins with the gain limit number `first`."""
        plan, low = self.plans[scale], self.lows[scale]
        record = np.zeros(1, _PLAN)
        for name in _NATIVE:
            record[name] = getattr(plan, name)
        record["segment"] = segment
        record["scale"], record["depth"] = scale, depth
        if scale > 0:
            record["input_pitch"], record["input_size"] = self.lows[scale - 1][1:3]
        record["low_pitch"], record["low_size"] = low.pitch, low.size
        record["row_words"], record["rows_a_frame"] = self.row_words, self.rows_a_frame
        record["rows_before"] = self._rows_before(scale)
        record["first_word"], record["first_pass"] = 3 + first * self.words_a_gain, first == 0
        for number, limit in enumerate(gains):
            record["gain"][0, number] = _gain(limit)
        return record

    def rows(self) -> NDArray[np.void]:
        """The records that add up rows, one a scale."""
        records = np.zeros(len(self.plans), _ROW_RECORD)
        for scale, (record, plan) in enumerate(zip(records, self.plans, strict=True)):
            record["before"] = self._rows_before(scale)
            record["rows"] = plan.rows if plan.bands else (0, 0)
            for name in ("row_shift", "row_adds", "den_row_shift", "den_row_add"):
                record[name] = getattr(plan, name)
        return records

    def _rows_before(self, scale: int) -> int:
        return sum(plan.size[1] for plan in self.plans[:scale])


def _low_bands(plan: AdmPlan, sample: int, bench: Bench) -> _LowBands:
    if sample == 0:
        return _LowBands(0, 0, 0, None)
    pitch = -(-plan.size[0] * sample // 256) * 256
    size = pitch * plan.size[1]
    memory = bench.card.allocate(bench.most * 2 * size)
    return _LowBands(memory.address, pitch, size, memory)


def _gain(limit: float) -> tuple[float, int, int]:
    """A record of _GAIN; limits that are whole multiply as integers."""
    whole = limit.is_integer() and 1 <= limit <= 1024
    return limit, int(limit) if whole else 0, int(0xFFFFFFFF // limit)


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
    plan: CardMemory
    low: int


class AdmTwin:
    """Sums each scale's bands by rows, then rounds and adds up the rows."""

    def __init__(self, members: Sequence[Adm], geometry: Geometry, bench: Bench) -> None:
        self._shared, self._native = adm_pass(members, geometry, CpuContext(Workspace(), ""))
        native = self._native
        self._layout = _Layout(native.plans, native.gains, native.aim, bench)
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
            grid = -(-plan.size[0] // _STRIP), segments
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
