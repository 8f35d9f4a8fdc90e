"""Means of luma and of its square: libvmaf's figures, in its order."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair

KEYS = ["float_moment_ref1st", "float_moment_dis1st", "float_moment_ref2nd", "float_moment_dis2nd"]

# What libvmaf says about seeded.pair(). Above 12 bits squares are rounded to single precision.
LIBVMAF = {
    (46, 30, "420", 8): (135.7731884057971, 143.2608695652174, 19205.009420289854, 21337.134782608697),
    (33, 29, "444", 10): (137.3691222570533, 144.78814002089865, 19636.549438349008, 21777.79382183908),
    (34, 18, "420", 12): (137.70445261437908, 144.79810049019608, 19732.340239481207, 21792.810948988972),
    (36, 20, "420", 16): (139.275390625, 146.30683051215277, 20167.31120402018, 22226.76607598199),
    (17, 5, "400", 8): (146.1529411764706, 152.83529411764707, 22090.858823529412, 24127.09411764706),
    (3, 3, "400", 16): (99.10807291666667, 112.67491319444444, 9923.453884548611, 12872.388997395834),
}


@pytest.mark.parametrize("case", LIBVMAF, ids=str)
def test_figures_are_libvmafs(case: tuple[int, int, str, int], instruction_set: str) -> None:
    found = figures("float_moment", *pair(*case), instruction_set=instruction_set)
    assert list(found) == KEYS
    assert tuple(found.values()) == LIBVMAF[case]


@pytest.mark.parametrize("depth", [8, 10, 12, 14, 16])
def test_large_sums_are_exact(depth: int) -> None:
    peak = (1 << depth) - 1
    dtype = np.uint8 if depth == 8 else np.uint16
    white, black = (
        Picture((np.full((70, 1000), value, dtype),), PixelFormat("400", depth)) for value in (peak, 0)
    )
    found = list(figures("float_moment", white, black).values())
    mean = peak / 2 ** (depth - 8)
    square = float(np.float32(mean) * np.float32(mean))
    assert found == [mean, 0.0, square, 0.0]
