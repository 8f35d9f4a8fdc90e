"""SpEED on the card, of chroma and of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity._native import Speed
from acuity.devices.cuda.batch import Batch, Bench, fields, placed
from acuity.devices.cuda.hardware.card import CardMemory
from acuity.features.extractor import Frame, Geometry
from acuity.features.speed import (
    SpeedChroma,
    SpeedChromaFigures,
    SpeedExtractor,
    SpeedTemporal,
    SpeedTemporalFigures,
    native_plan,
    weighings,
)

_CHROMA: Final = 0
_CHANGE: Final = 1
_CHANGE_TOWARDS_REFERENCE: Final = 2
_SIDES: Final = {_CHROMA: 4, _CHANGE: 2, _CHANGE_TOWARDS_REFERENCE: 2}

# The twins of the structures in kernels/speed/plan.cuh.
_AXIS: Final = np.dtype(fields("uint64 at weights; int32 outputs entries"), align=True)
_WEIGHING: Final = np.dtype(fields("float32 sigma_nn nn_floor; int32 mode noise"), align=True)
_TABLES: Final = ("low_pass", "mean", "weighings", "noises")
_SCRATCH: Final = (
    *("reduced", "centred", "covariance", "eigenvalues", "q", "r", "regular"),
    *("variances", "entropies"),
)
_NUMBERS: Final = (
    *("taps", "mean_taps", "blend", "normalised", "across", "down", "comparison", "sides", "depth"),
    *("weighing_count", "noise_count", "unused"),
)
_PLAN: Final = np.dtype(
    [
        *(("columns", _AXIS), ("rows", _AXIS)),
        *fields(f"uint64 {' '.join((*_TABLES, *_SCRATCH))}; int32 {' '.join(_NUMBERS)}"),
    ],
    align=True,
)

_CELLS: Final = 25
_REDUCE: Final = 128, 32  # threads of a block, and its outputs
_CENTRE: Final = 256
_COVARIANCE: Final = 128, 6  # threads of a block, and blocks a side
_SOLVE: Final = 256, 2
_BLOCKS: Final = 64
_SCORES: Final = 256


class SpeedTwin:
    """Scores of pairs of planes: of u and v, or of what changed in luma."""

    def __init__(
        self,
        members: Sequence[SpeedExtractor],
        plane: tuple[int, int],
        depth: int,
        comparison: int,
        bench: Bench,
    ) -> None:
        native = native_plan(members[0], plane)
        settings = weighings(members)
        noises = sorted({noise for noise, _, _ in settings})
        plan = np.zeros((), _PLAN)
        tables: dict[str, NDArray[Any]] = {
            "low_pass": np.array(native.low_pass, np.float32),
            "mean": np.array(native.mean, np.float32),
            "weighings": np.array(
                [(noise, floor, mode, noises.index(noise)) for noise, floor, mode in settings], _WEIGHING
            ),
            "noises": np.array(noises, np.float32),
        }
        self._held: list[CardMemory] = []
        for name, values in tables.items():
            plan[name] = self._uploaded(bench, values)
        for name, (outputs, at, weights) in (("columns", native.columns), ("rows", native.rows)):
            axis = self._uploaded(bench, np.array(at, np.int32))
            weighed = self._uploaded(bench, np.array(weights, np.float32))
            plan[name] = axis, weighed, outputs, outputs * len(native.low_pass)

        self._sides = _SIDES[comparison]
        area = native.columns[0] * native.rows[0]
        blocks = native.across * native.down
        square = _CELLS * _CELLS
        sizes = (area, area, square, _CELLS, square, square, 2, blocks, blocks * len(noises))
        for name, size in zip(_SCRATCH, sizes, strict=True):
            memory = bench.card.allocate(4 * size * self._sides * bench.most)
            self._held.append(memory)
            plan[name] = memory.address
        numbers = (len(native.low_pass), len(native.mean), native.blend, native.normalised)
        counts = (len(settings), len(noises), 0)
        given = (*numbers, native.across, native.down, comparison, self._sides, depth, *counts)
        for name, value in zip(_NUMBERS, given, strict=True):
            plan[name] = value
        self._plan = self._uploaded(bench, plan)

        pairs = self._sides // 2
        self._weighings = len(settings)
        self.words = pairs * (1 + self._weighings)
        self._width = np.int32(plane[0])
        kind = "rescale" if native.blend else "reduce"
        names = [f"speed_{kind}_{8 if depth == 8 else 16}"]
        names += [f"speed_{name}" for name in ("centre", "covariance", "solve", "blocks", "scores")]
        self._reduce, *others, self._score = bench.card.kernels("speed", names)
        grid = -(-native.columns[0] // _REDUCE[1]), native.rows[0] * self._sides
        self._reduce_grid = grid
        self._score_grid = self._weighings, pairs
        centre, wide = (-(-area // _CENTRE), _CENTRE), (-(-blocks // _BLOCKS), _BLOCKS)
        steps = centre, _COVARIANCE[::-1], _SOLVE[::-1], wide
        # Kernels between the reduction and the scores: blocks a side, and threads of each.
        self._steps = [(kernel, *step) for kernel, step in zip(others, steps, strict=True)]

    def _uploaded(self, bench: Bench, values: NDArray[Any]) -> int:
        self._held.append(placed(bench.card, np.frombuffer(values.tobytes(), np.uint8)))
        return self._held[-1].address

    def launch(self, batch: Batch, sums: int) -> None:
        given = batch.frames, self._plan
        self._reduce(batch.stream, (*self._reduce_grid, batch.count), (_REDUCE[0], 1, 1), *given, self._width)
        for kernel, blocks, threads in self._steps:
            kernel(batch.stream, (blocks, self._sides, batch.count), (threads, 1, 1), *given)
        grid = (*self._score_grid, batch.count)
        self._score(batch.stream, grid, (_SCORES, 1, 1), *given, sums, np.int32(self.words))

    def results(self, sums: NDArray[np.int64]) -> list[tuple[bool, list[float]]]:
        """For each pair of planes whether a covariance is singular, and the score of each weighing."""
        pairs = sums.reshape(-1, 1 + self._weighings)
        scores = pairs[:, 1:].astype(np.uint32).view(np.float32).astype(np.float64)
        return [(bool(pair[0]), row.tolist()) for pair, row in zip(pairs, scores, strict=True)]


class SpeedChromaTwin(SpeedTwin):
    """Compares u with u and v with v."""

    def __init__(self, members: Sequence[SpeedChroma], geometry: Geometry, bench: Bench) -> None:
        super().__init__(members, geometry.chroma or (0, 0), geometry.depth, _CHROMA, bench)
        self._figures = SpeedChromaFigures(members)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._figures.of(Speed.joined(*self.results(sums)))


class SpeedTemporalTwin:
    """Compares what changed in the luma of both pictures."""

    def __init__(self, members: Sequence[SpeedTemporal], geometry: Geometry, bench: Bench) -> None:
        self._figures = SpeedTemporalFigures(members, geometry)
        self._twin: SpeedTwin | None = None
        if self._figures.fits:
            comparison = _CHANGE_TOWARDS_REFERENCE if members[0].flag("speed_use_ref_diff") else _CHANGE
            plane = geometry.width, geometry.height
            self._twin = SpeedTwin(members, plane, geometry.depth, comparison, bench)
        self.words = self._twin.words if self._twin is not None else 1

    def launch(self, batch: Batch, sums: int) -> None:
        if self._twin is not None:
            self._twin.launch(batch, sums)

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        if frame.index == 0:
            return self._figures.of_first()
        if self._twin is None:
            raise self._figures.too_small()
        ((_, scores),) = self._twin.results(sums)
        return self._figures.of(scores)
