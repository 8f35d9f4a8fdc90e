"""The extractor that gives nothing, and moments of large sums."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair


def test_frames_are_counted_all_the_same() -> None:
    with Measurement(threads=2) as measurement:
        measurement.add_feature("null")
        for _ in range(3):
            measurement.add(*pair(8, 8, "420", 8))
        measurement.flush()
        results = measurement.results()
    assert results.frames == [0, 1, 2]
    assert (results.columns, results.pooled(), results.aggregate) == ({}, {}, {})


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
