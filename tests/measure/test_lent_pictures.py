"""Pictures that a program lends: it is told once when they are free, whatever happens."""

from __future__ import annotations

import gc
import logging
import queue
import threading
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from acuity.errors import ClosedError, FeatureError, InputError
from acuity.measure import Measurement
from acuity.measure.crew import Crew
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import HEIGHT, WIDTH, equal, luma, measure, measuring, pair


class OfAnotherLibrary:
    """An array in the machine's memory of a library that is not numpy."""

    def __init__(self, samples: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.samples = samples
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **given: Any) -> Any:
        return self.samples.__dlpack__(**given)


def lending(*features: str, **settings: Any) -> Measurement:
    return measuring(features=features, **settings)


@pytest.mark.parametrize("copy", [True, False])
def test_arrays_of_other_libraries_in_the_machines_memory(copy: bool) -> None:
    with lending("psnr", "motion") as measurement:
        for index in range(3):
            ref, dis = (OfAnotherLibrary(luma(index, worse=worse)) for worse in (False, True))
            assert measurement.add(ref, dis, copy=copy) == index
        measurement.flush()
        assert equal(measurement.results(), measure(3, features=("psnr", "motion")))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_few_arrays_are_enough_for_any_number_of_frames(threads: int) -> None:
    """Four pairs: one is fed while the measurement looks back at two, and one is on its way."""
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(4):
        free.put(tuple(np.empty((HEIGHT, WIDTH), np.uint8) for _ in "rd"))
    features = "motion=motion_five_frame_window=true", "vif"
    with lending(*features, threads=threads) as measurement:
        for index in range(40):
            ref, dis = arrays = free.get(timeout=30)
            ref[:], dis[:] = luma(index), luma(index, worse=True)
            measurement.add(ref, dis, copy=False, freed=partial(free.put, arrays))
            del ref, dis, arrays
        measurement.flush()
        assert equal(measurement.results(), measure(40, features=features))
        assert free.qsize() == 4


def test_pictures_are_lent_too_and_copies_are_free_at_once() -> None:
    told: list[int] = []
    with lending("motion", threads=1) as measurement:
        measurement.add(luma(0), luma(0), freed=lambda: told.append(0))
        assert told == [0]
        measurement.add(*pair(1), freed=lambda: told.append(1))
        for index in (2, 3):
            measurement.add(luma(index), luma(index), freed=lambda: told.append(2))
        measurement.flush()
        assert sorted(told) == [0, 1, 2, 2]


def test_arrays_that_are_not_copied_have_rows_in_one_piece() -> None:
    told: list[int] = []
    with lending("psnr") as measurement:
        with pytest.raises(InputError, match="lie one after the other"):
            measurement.add(luma(0)[:, ::2], luma(0)[:, ::2], copy=False, freed=lambda: told.append(0))
        assert (told, measurement.frames) == ([0], 0)


def counted(measurement: Measurement, frames: int, told: Counter[int], first: int = 0) -> None:
    for index in range(first, first + frames):
        measurement.add(*pair(index), freed=partial(told.update, [index]))


def test_closing_early_frees_everything_once() -> None:
    told: Counter[int] = Counter()
    with lending("vif", threads=2) as measurement:
        counted(measurement, 12, told)
    assert told == Counter(range(12))
    with pytest.raises(ClosedError):
        measurement.add(*pair(0), freed=partial(told.update, [12]))
    measurement.close()
    assert told == Counter(range(13))


def test_refusals_and_failures_free_everything_once() -> None:
    told: Counter[int] = Counter()
    with lending() as measurement:
        with pytest.raises(FeatureError, match="nothing to measure"):
            measurement.add(*pair(0), freed=partial(told.update, [0]))
        assert told == Counter([0])
    deep = Picture((np.full((HEIGHT, WIDTH), 1024, np.uint16),), PixelFormat("400", 10))
    with lending("psnr", threads=1) as measurement:
        measurement.add(*pair(0, 10), freed=partial(told.update, [1]))
        measurement.add(deep, deep, freed=partial(told.update, [2]))
        with pytest.raises(InputError, match="has the sample 1024"):
            measurement.flush()
    assert told == Counter(range(3))


def test_a_measurement_that_nobody_closes_frees_everything() -> None:
    told: Counter[int] = Counter()
    measurement = lending("vif", threads=1)
    counted(measurement, 6, told)
    del measurement
    gc.collect()
    assert told == Counter(range(6))


def test_measurements_that_share_threads() -> None:
    told: Counter[int] = Counter()
    with Crew(2) as crew:
        one, other = (lending("vif", crew=crew) for _ in "12")
        counted(one, 6, told)
        counted(other, 6, told, first=6)
        one.close()
        assert Counter(range(6)) == Counter({index: told[index] for index in range(6)})
        other.flush()
    assert told == Counter(range(12))


def test_what_a_callback_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise ZeroDivisionError("no")

    with caplog.at_level(logging.ERROR), lending("psnr", threads=1) as measurement:
        for index in range(5):
            measurement.add(*pair(index), freed=fails)
        measurement.flush()
        assert equal(measurement.results(), measure(5, features=("psnr",)))
    assert len(caplog.records) == 5
    assert {record.name for record in caplog.records} == {"acuity.measure.loans"}


def test_callbacks_run_without_our_locks() -> None:
    """A program may hold a lock of its own while it feeds, and take it when pictures are free."""
    lock = threading.Lock()
    told: list[int] = []

    def freed() -> None:
        with lock:
            told.append(1)

    measurement = lending("vif", threads=1)
    for index in range(2):
        with lock:
            measurement.add(*pair(index), freed=freed)
    measurement.close()
    assert len(told) == 2
