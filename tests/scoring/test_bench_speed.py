"""Speed by backend: frames and figures of each place, the time they take, and differences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.scoring.speed import SpeedRun, SpeedTarget, Workload, as_document, find_places
from acuity.video.made_up import moving_pairs
from emulated_card import needs_compiler
from fake_cuda import emulated_card
from off_device import OffDevice

pytestmark = pytest.mark.usefixtures("without_cuda")

PSNR = Workload("psnr", features=("psnr",))
VIF = Workload("vif", features=("vif",))
ONE = SpeedTarget("cpu", 1, [CpuDevice()])
SIZE = (64, 48)


def test_places_of_this_machine() -> None:
    places, unusable = find_places()
    assert places[0].name == "cpu, 1 thread"
    assert [place.number for place in places] == [None] * len(places)
    assert [entry.name for entry in unusable] == ["cuda"]
    assert unusable[0].reason


def test_a_named_backend_is_measured_once() -> None:
    assert {place.backend for place in find_places(["cpu", "cpu"])[0]} == {"cpu"}


def test_frames_count_until_the_share_of_the_time_is_over() -> None:
    clock = iter(range(10**6))
    run = SpeedRun(SIZE, 8, 1000, now=lambda: float(next(clock)))
    first = run.measure(ONE, PSNR, left=2)
    second = run.measure(ONE, PSNR, left=1)
    assert 400 < first.seconds < 500  # of half the time, what the compared frames left
    assert 900 < first.seconds + second.seconds < 1000
    assert first.frames > 300
    assert first.fps == first.frames / first.seconds


def test_a_few_frames_are_measured_however_late_it_is() -> None:
    found = SpeedRun(SIZE, 10, 1e-9).measure(ONE, VIF, left=1)
    assert found.frames == 4
    assert 0 < found.scores["integer_vif_scale3"] < 1


def test_a_card_is_measured_however_long_its_kernels_took_to_compile() -> None:
    ticks = itertools.count()
    run = SpeedRun(SIZE, 8, 1e-9, now=lambda: next(ticks) / 1000)  # the time is over before it begins
    found = run.measure(SpeedTarget("cuda", 1, [CpuDevice()], 0), PSNR, left=1)
    assert found.seconds == pytest.approx(0.4, abs=0.01)
    assert found.frames > 300


@needs_compiler
@pytest.mark.parametrize("depth", [8, 10])
def test_a_card_beside_the_cpu(depth: int) -> None:
    card = SpeedTarget("cuda", 2, [CudaDevice(emulated_card()), CpuDevice()], 0)
    ticks = itertools.count()
    run = SpeedRun(SIZE, depth, 0.01, now=lambda: next(ticks) / 10)  # an emulated card needs long for a frame
    speeds = [run.measure(place, workload, 1) for workload in (PSNR, VIF) for place in (ONE, card)]
    assert [speed.differences for speed in speeds] == [()] * 4
    assert speeds[0].scores == speeds[1].scores
    assert speeds[1].place.name == "cuda:0"
    document = as_document(run, 0.01, speeds, [])
    assert document["equal"]
    assert [entry["device"] for entry in document["results"]] == [None, 0, None, 0]
    assert document["results"][1]["card"] == card.card


def test_one_unit_in_the_last_place_is_a_difference() -> None:
    run = SpeedRun(SIZE, 8, 0.01)
    speeds = [run.measure(place, VIF, 1) for place in (ONE, SpeedTarget("cuda", 1, [OffDevice()], 1))]
    assert speeds[0].differences == ()
    assert len(speeds[1].differences) == 4
    assert speeds[1].differences[0].startswith("integer_vif_scale0 of vif differs in frame 0: 0.")
    assert speeds[1].differences[0].endswith(" on cuda:1")
    document = as_document(run, 0.01, speeds, [])
    assert not document["equal"]
    assert document["differences"] == list(speeds[1].differences)


def test_made_up_pictures() -> None:
    """They are the same each time, move, are degraded, and lie in the memory that is given."""
    taken: list[int] = []

    def allocate(size: int) -> Any:
        taken.append(size)
        return np.zeros(size, np.uint8)

    once, again = (list(moving_pairs(33, 21, 10, 3, given)) for given in (allocate, None))
    assert taken == [33 * 21 * 2, 17 * 11 * 2, 17 * 11 * 2] * 6
    for (ref, dis), (same, _) in zip(once, again, strict=True):
        assert [plane.shape for plane in ref.planes] == [(21, 33), (11, 17), (11, 17)]
        assert all(map(np.array_equal, ref.planes, same.planes))
        assert not any(map(np.array_equal, ref.planes, dis.planes))
        assert ref.luma.max() > 255
    assert not np.array_equal(once[0][0].luma, once[1][0].luma)
