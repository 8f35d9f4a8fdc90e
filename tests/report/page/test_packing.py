"""Packed columns: what comes out is what went in, rounded once."""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import pytest
from packed_columns import unpack

from acuity.report.page.packing import LARGEST, pack, pack_ranges, storable

DIGITS = (0, 2, 3, 4, 6, 9, 12)


def _rounded(value: float, decimals: int) -> float:
    return float(f"{value:.{decimals}f}")


def _awkward(seed: int) -> np.ndarray:
    """Values of all sizes, halves, figures of reports, and what isn't a number."""
    random_number = random.Random(seed)
    kinds = (
        lambda: random_number.uniform(0, 100),
        lambda: round(random_number.uniform(0, 100), 6),
        lambda: random_number.randrange(-4000, 4000) / 2 / 10 ** random_number.choice(DIGITS),
        lambda: random_number.randrange(10) + 0.005,
        lambda: struct.unpack("d", random_number.randbytes(8))[0],
        lambda: random_number.choice((math.nan, math.inf, -math.inf, 0.0, -0.0, LARGEST, 1 - LARGEST, 1e300)),
        lambda: 10.0 ** random_number.uniform(-12, 15),
    )
    chosen = random_number.sample(kinds, random_number.randrange(1, 4))
    count = random_number.choice((0, 1, 2, 3, 50, 500))
    return np.array([random_number.choice(chosen)() for _ in range(count)], np.float64)


@pytest.mark.parametrize("seed", range(60))
def test_values_come_back_rounded_once(seed: int) -> None:
    values = _awkward(seed)
    for wanted in DIGITS:
        packed = pack(values, wanted)
        decimals = packed["decimals"]
        assert 0 <= decimals <= wanted
        kept = np.where(storable(values), values, math.nan).tolist()
        np.testing.assert_array_equal(unpack(packed), [_rounded(value, decimals) for value in kept])


@pytest.mark.parametrize("seed", range(60))
def test_ranges_are_the_least_and_the_greatest(seed: int) -> None:
    values = _awkward(seed)
    for bucket in (2, 3, 7, 1000):
        packed = pack_ranges(values, 4, bucket)
        found = unpack(packed)
        for number, start in enumerate(range(0, len(values), bucket)):
            rows = values[start : start + bucket]
            rows = rows[storable(rows)]
            low, high = found[2 * number : 2 * number + 2]
            ends = [float(rows.min()), float(rows.max())] if len(rows) else [math.nan] * 2
            np.testing.assert_array_equal([low, high], [_rounded(end, packed["decimals"]) for end in ends])


def test_regular_columns_take_no_room() -> None:
    rows = np.arange(170_000)
    assert len(pack(rows, 0)["data"]) < 500
    assert len(pack(rows / 30, 6)["data"]) < 2000
    assert len(pack(np.full(170_000, math.nan), 6)["absent"]) < 500
