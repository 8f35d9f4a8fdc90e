"""Measurements on an emulated card give the digits of the CPU, batch by batch, also when steered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.conveyor import CudaConveyor
from acuity.errors import InputError
from acuity.features.extractor import Frame, Geometry
from acuity.features.motion import Motion
from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat
from array_bench import columns, counted, measured
from array_bench import on_cpu as figures_of_cpu
from emulated_card import needs_compiler
from fake_cuda import emulated_card
from twin_bench import extractors, on_cpu, random_frames

pytestmark = needs_compiler


def card_and_cpu() -> list[Any]:
    return [CudaDevice(emulated_card()), CpuDevice()]


@pytest.mark.parametrize("depth", [8, 10])
def test_a_measurement_on_both_devices(depth: int) -> None:
    frames = random_frames(150, 48, 32, depth, layout="420")
    features = "motion=debug=true", "float_moment"
    found = columns(measured(card_and_cpu(), frames, *features))
    np.testing.assert_equal(found, figures_of_cpu(frames, *features))
    assert len(found["integer_motion2"]) == 150


def test_subsampling_and_steering() -> None:
    frames = random_frames(90, 32, 32, 8)

    def steer(measurement: Measurement, index: int) -> None:
        if index == 30:
            measurement.set_subsample(4)

    for settings in ({"subsample": 3}, {"steer": steer}):
        found = measured(card_and_cpu(), frames, "motion", "float_moment", **settings)
        np.testing.assert_equal(columns(found), figures_of_cpu(frames, "motion", "float_moment", **settings))


def test_samples_that_are_too_deep_are_refused() -> None:
    frames = random_frames(3, 32, 32, 10)
    deep = np.full((32, 32), 1024, np.uint16)
    wrong = Picture((deep,), PixelFormat("400", 10))
    frames[1] = Frame(1, frames[1].ref, wrong)
    with pytest.raises(InputError, match=r"frame 1 of the distorted video has the sample 1024"):
        measured(card_and_cpu(), frames, "motion")


def test_a_picture_that_is_shown_twice_is_uploaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    uploads = counted(monkeypatch, "upload", lambda address, pitch, rows: rows.shape[0])
    frames = random_frames(70, 32, 48, 8)
    measured(card_and_cpu(), frames, "motion=motion_five_frame_window=true")
    assert uploads.count(48) == 140


def test_a_picture_that_its_owner_fills_again_is_uploaded_again() -> None:
    """The same objects hold other frames later: nothing of the earlier ones is left."""
    frames = random_frames(40, 32, 32, 8)
    expected = figures_of_cpu(frames, "motion")
    own = [
        tuple(Picture((np.empty((32, 32), np.uint8),), PixelFormat("400", 8)) for _ in "rd") for _ in "012"
    ]
    with Measurement(1, backend=card_and_cpu()) as measurement:
        measurement.add_feature("motion")
        for frame in frames:
            ref, dis = own[frame.index % 3]
            if frame.index >= 3:
                while measurement.snapshot().frames_done < frame.index:
                    pass
            ref.luma[:], dis.luma[:] = frame.ref.luma, frame.dis.luma
            measurement.add(ref, dis)
        measurement.flush()
        np.testing.assert_equal(columns(measurement), expected)


def test_frames_that_do_not_follow_each_other_bring_the_pictures_before_them() -> None:
    """Three batches under way then need more pictures than there is room for."""
    frames = random_frames(2 * 3 * 64, 32, 32, 8)[1::2]
    expected = on_cpu(extractors("motion"), frames)
    conveyor = CudaConveyor(emulated_card(), Geometry(32, 32, 8))
    group = conveyor.runner(Motion, extractors("motion"))
    conveyor.prepare(1, [group])
    found: list[float] = []
    for start in range(0, len(frames), 64):
        conveyor.start(frames[start : start + 64], 1, [(group, range(64))])
    assert conveyor.full
    while conveyor.pending:
        (figures,) = conveyor.finish()
        found += list(figures.columns["VMAF_integer_feature_motion_sad_score"])
    assert found == [figures["VMAF_integer_feature_motion_sad_score"] for figures in expected]
