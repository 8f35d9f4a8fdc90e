"""Structural similarity on the card, at one scale or at five."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity._native import Workspace
from acuity.devices.cuda.batch import Batch, Bench
from acuity.devices.cuda.hardware.card import Shape
from acuity.features.extractor import CpuContext, Frame, Geometry
from acuity.features.ssim import FloatMsSsim, FloatSsim, Similarity, SimilarityFigures

_WINDOW: Final = 11
_TERMS: Final = 4
_LUMINANCE, _CONTRAST, _STRUCTURE, _FIGURE = 1, 2, 4, 8  # terms that are summed
_COLUMNS, _ROWS, _HALVES = 32, 8, 16  # of a block: of threads, and rows of a halved picture
_BLOCK: Final = (_COLUMNS, _ROWS, 1)
_SCALES: Final = 5

Size = tuple[int, int]


class _Pyramid:
    """Sums the terms of some levels: of the pictures themselves, or of smaller ones that are kept."""

    def __init__(self, geometry: Geometry, bench: Bench, levels: Sequence[Size], first_kept: int) -> None:
        self._kernels = bench.card.kernels
        self._suffix = "8" if geometry.depth == 8 else "16"
        self._levels = levels
        self._first_kept = first_kept
        self.size = np.int32(geometry.width), np.int32(geometry.height), np.int32(geometry.depth)
        self.values = sum(2 * width * height for width, height in levels[first_kept:])  # of a frame
        self._columns = sum(width - _WINDOW + 1 for width, _ in levels)
        strips = sum(-(-(width - _WINDOW + 1) // _COLUMNS) for width, _ in levels)
        self._grid = strips, 1
        self.memory = bench.card.allocate(max(4 * self.values * bench.most, 4))
        self._sums = bench.card.allocate(8 * _TERMS * self._columns * bench.most)
        (self._find,) = self._kernels("ssim", [f"ssim_columns_{self._suffix}"])
        (self._total,) = self._kernels("ssim", ["ssim_totals"])

    def sum(self, batch: Batch, wanted: int, wanted_last: int, sums: int) -> None:
        width, height = map(np.int32, self._levels[0])
        columns = self._sums.address, np.int32(self._columns)
        place = batch.frames, self.size[2], self.memory.address, np.int64(self.values), width, height
        numbers = map(np.int32, (len(self._levels), self._first_kept, wanted, wanted_last))
        self._find(batch.stream, (*self._grid, batch.count), _BLOCK, *place, *numbers, *columns)
        grid = len(self._levels), 1, batch.count
        self._total(batch.stream, grid, (32 * _TERMS, 1, 1), *columns, width, height, sums)


def _blocks(size: Size, rows: int, batch: Batch) -> Shape:
    """A grid for both pictures of each frame."""
    return -(-size[0] // _COLUMNS), -(-size[1] // rows), 2 * batch.count


class _SimilarityTwin:
    """The base of both twins: figures from sums in double precision."""

    def __init__(
        self, member: Similarity, geometry: Geometry, outputs: Callable[[NDArray[np.float64]], list[float]]
    ) -> None:
        self._figures = SimilarityFigures(member, geometry)
        self._outputs = outputs

    def figures(self, sums: NDArray[np.int64], frame: Frame) -> dict[str, float]:
        return self._figures.of(self._outputs(sums.view(np.float64)))


class FloatSsimTwin(_SimilarityTwin):
    """Shrinks both pictures, and sums the terms and their product."""

    words = _TERMS

    def __init__(self, members: Sequence[FloatSsim], geometry: Geometry, bench: Bench) -> None:
        (member,) = members
        native = member.kernel(geometry, CpuContext(Workspace(), ""))
        super().__init__(member, geometry, native.outputs)
        self._wanted = 15 if member.flag("enable_lcs") else _FIGURE
        self._factor = member.factor(geometry)
        self._shrunk = native.size
        self._pyramid = _Pyramid(geometry, bench, [self._shrunk], 0 if self._factor > 1 else 1)
        name = "ssim_shrink_8" if geometry.depth == 8 else "ssim_shrink_16"
        (self._shrink,) = bench.card.kernels("ssim", [name])

    def launch(self, batch: Batch, sums: int) -> None:
        pyramid = self._pyramid
        if self._factor > 1:
            place = np.int32(self._factor), pyramid.memory.address, np.int64(pyramid.values)
            grid = _blocks(self._shrunk, _ROWS, batch)
            self._shrink(batch.stream, grid, _BLOCK, batch.frames, *pyramid.size, *place)
        pyramid.sum(batch, self._wanted, self._wanted, sums)


class FloatMsSsimTwin(_SimilarityTwin):
    """Halves both pictures again and again, and sums the terms at each scale."""

    words = _TERMS * _SCALES

    def __init__(self, members: Sequence[FloatMsSsim], geometry: Geometry, bench: Bench) -> None:
        (member,) = members
        super().__init__(member, geometry, member.kernel(geometry, CpuContext(Workspace(), "")).outputs)
        lcs = _LUMINANCE | _CONTRAST | _STRUCTURE
        self._wanted = lcs if member.flag("enable_lcs") else _CONTRAST | _STRUCTURE, lcs
        self._levels = [(geometry.width, geometry.height)]
        while len(self._levels) < _SCALES:
            width, height = self._levels[-1]
            self._levels.append((width - width // 2, height - height // 2))
        self._pyramid = _Pyramid(geometry, bench, self._levels, 1)
        name = "ssim_halve_8" if geometry.depth == 8 else "ssim_halve_16"
        self._halve, self._halve_again = bench.card.kernels("ssim", [name, "ssim_halve_again"])

    def launch(self, batch: Batch, sums: int) -> None:
        pyramid, stream = self._pyramid, batch.stream
        kept = pyramid.memory.address, np.int64(pyramid.values)
        grid = _blocks(self._levels[1], _HALVES, batch)
        self._halve(stream, grid, _BLOCK, batch.frames, *pyramid.size, *kept)
        start = 0
        for (width, height), smaller in zip(self._levels[1:], self._levels[2:], strict=False):
            grid = _blocks(smaller, _HALVES, batch)
            place = np.int64(start), np.int32(width), np.int32(height)
            self._halve_again(stream, grid, _BLOCK, *kept, *place)
            start += 2 * width * height
        pyramid.sum(batch, *self._wanted, sums)
