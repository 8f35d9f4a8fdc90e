"""LumaLook: the brightest lines and the blocks outside a range, by the formula in numpy."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity import _native
from effort import examples

BLOCK, LOWEST, HIGHEST = 16, 12, 239


@settings(max_examples=examples(40), deadline=None)
@given(
    width=st.integers(1, 150),
    height=st.integers(1, 150),
    depth=st.sampled_from([8, 10, 16]),
    step=st.sampled_from([1, 4]),
    line_step=st.sampled_from([0, 4]),
    dark=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_the_figures_of_two_pictures(
    width: int, height: int, depth: int, step: int, line_step: int, dark: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    look = _native.LumaLook(step=step, line_step=line_step, block=BLOCK, lowest=LOWEST, highest=HIGHEST)
    thin = _native.LumaLook(step=step, line_step=0, block=BLOCK, lowest=LOWEST, highest=HIGHEST)
    assert (len(look.columns), len(look.rows), look.blocks) == (0, 0, (0, 0))
    lines, blocks, outside = [], 0, 0
    for _ in range(2):
        luma = (rng.integers(0, 1 << depth, (height, width)) >> dark).astype("u1" if depth == 8 else "u2")
        look.study(luma, depth)
        few = np.ascontiguousarray(luma[::step, ::step])
        thin.study(few, depth, thinned=True)
        across, along = (luma[::line_step], luma[:, ::line_step]) if line_step else (few, few)
        lines.append((across.sum(axis=0, dtype=np.uint32), along.sum(axis=1, dtype=np.uint32)))
        samples = across.shape[0], along.shape[1]
        side = BLOCK // step
        down, over = few.shape[0] // side, few.shape[1] // side
        means = few[: down * side, : over * side].reshape(down, side, over, side).mean(axis=(1, 3))
        means /= 1 << (depth - 8)
        blocks += down * over
        outside += int(((means < LOWEST) | (means > HIGHEST)).sum())
    assert look.samples == samples
    assert look.blocks == thin.blocks == (blocks, outside)
    assert np.array_equal(look.columns, np.maximum(lines[0][0], lines[1][0]))
    assert np.array_equal(look.rows, np.maximum(lines[0][1], lines[1][1]))
    if not line_step:
        assert np.array_equal(thin.columns, look.columns)
        assert np.array_equal(thin.rows, look.rows)


def test_several_threads_and_a_picture_of_another_size() -> None:
    look = _native.LumaLook(step=4, line_step=0, block=BLOCK, lowest=LOWEST, highest=HIGHEST)
    pictures = [np.full((64, 64), level, np.uint8) for level in range(50)]
    threads = [threading.Thread(target=look.study, args=(picture, 8)) for picture in pictures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert look.blocks == (16 * 50, 16 * LOWEST)
    assert set(look.columns) == {49 * 16}
    with pytest.raises(ValueError, match="one size"):
        look.study(np.zeros((64, 60), np.uint8), 8)
