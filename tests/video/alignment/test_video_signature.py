"""Signatures: means of cells, whatever the size, depth and row stride."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity import _native
from acuity.video.alignment.signature import grid
from acuity.video.picture import Picture, PixelFormat


def expected(luma: np.ndarray, rows: int, columns: int, depth: int) -> np.ndarray:
    height, width = luma.shape
    step = max(1, height // 216)
    read = np.arange(height) % step == 0
    cells = []
    for row in range(rows):
        band = slice(row * height // rows, (row + 1) * height // rows)
        part = luma[band][read[band]].astype(np.float64)
        edges = [column * width // columns for column in range(columns + 1)]
        cells += [part[:, a:b].mean() for a, b in itertools.pairwise(edges)]
    return np.array(cells) / (1 << (depth - 8)) - 128


@settings(max_examples=40, deadline=None)
@given(
    width=st.integers(1, 200),
    height=st.sampled_from([1, 2, 17, 18, 19, 33, 127, 128, 180, 255, 600, 1081]),
    depth=st.sampled_from([8, 9, 10, 12, 16]),
    padding=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_it_is_the_mean_of_each_cell(width: int, height: int, depth: int, padding: int, seed: int) -> None:
    format = PixelFormat("400", depth)
    rng = np.random.default_rng(seed)
    luma = rng.integers(0, 1 << depth, (height, width + padding)).astype(format.dtype)[:, :width]
    rows, columns = (54, 96) if width >= height else (96, 54)
    found = grid(Picture((luma,), format))
    assert found.dtype == np.float32
    wanted = expected(luma, min(rows, height), min(columns, width), depth)
    np.testing.assert_allclose(found.ravel(), wanted, atol=1e-4)


def test_every_instruction_set_gives_the_same() -> None:
    luma = np.random.default_rng(1).integers(0, 256, (1080, 5003)).astype(np.uint8)
    made = []
    for name, runs in _native.instruction_sets():
        if runs:
            cells = np.empty((18, 32), np.float32)
            _native.signature(luma, 8, cells, name)
            made.append(cells.tobytes())
    assert len(set(made)) == 1


@pytest.mark.parametrize("shape", [(0, 4), (5, 4), (4, 9)])
def test_a_grid_has_no_more_cells_than_samples(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="cell"):
        _native.signature(np.zeros((4, 8), np.uint8), 8, np.empty(shape, np.float32))
