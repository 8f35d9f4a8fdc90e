"""Columns: they grow, know what was written, and feed derivations in frame order."""

from __future__ import annotations

import math
import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acuity.features.extractor import Extractor
from acuity.features.motion import Motion
from acuity.measure.collector import Collector, Column
from acuity.measure.epochs import FOREVER

SAD = "VMAF_integer_feature_motion_sad_score"
KEYS = [SAD, "integer_motion2", "integer_motion3"]


def running(motion: Motion, start: int) -> list[tuple[Extractor, int, int]]:
    return [(motion, start, FOREVER)]


@given(st.dictionaries(st.integers(0, 3000), st.floats(allow_nan=True), max_size=40))
def test_a_column_keeps_what_was_written(figures: dict[int, float]) -> None:
    column = Column()
    for index, value in figures.items():
        column.write(index, value)
    for index, value in figures.items():
        np.testing.assert_equal(column.get(index), value)
    values, written = column.table(3100)
    assert {frame for frame in range(3100) if written[frame]} == set(figures)
    assert all(math.isnan(value) for value, there in zip(values, written, strict=True) if not there)
    assert column.get(-1) is None
    assert column.get(10**6) is None


@given(st.permutations(range(12)), st.booleans())
def test_derivations_see_frames_in_order(order: list[int], wide: bool) -> None:
    extractor = Motion({"motion_five_frame_window": wide, "motion_moving_average": True})
    changes = [0.0, 0.0, *np.random.default_rng(1).uniform(0, 9, 10)]

    def collect(indices: list[int]) -> list[list[float]]:
        collector = Collector()
        keys = [*extractor.keys(late=False), *extractor.keys(late=True)]
        collector.replan(0, keys, running(extractor, 0))
        for index in indices:
            collector.write(index, {keys[0]: changes[index]})
        collector.finish()
        columns, complete = collector.table(keys, 12)
        assert all(complete)
        return [column.tolist() for column in columns]

    assert collect(order) == collect(sorted(order))


def test_threads_may_write_together() -> None:
    collector = Collector()
    collector.replan(0, KEYS, running(Motion(), 0))

    def write(first: int) -> None:
        for index in range(first, 2000, 4):
            collector.write(index, {SAD: float(index)})

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    collector.finish()
    (motion2,), complete = collector.table(["integer_motion2"], 2000)
    assert all(complete)
    assert motion2[1:].tolist() == [float(index) for index in range(1, 2000)]
