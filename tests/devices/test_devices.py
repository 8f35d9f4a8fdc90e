"""Devices: what there is, that none stands in for another, and that a measurement may use several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import acuity
from acuity.devices import BACKENDS, Device, list_backends, start_backend, usable_instruction_sets
from acuity.devices.cpu import CpuDevice, CpuLane
from acuity.errors import BackendError
from acuity.features.extractor import Extractor, Frame, Geometry
from acuity.features.vif import Vif
from acuity.measure import Measurement
from moving_pictures import HEIGHT, WIDTH, equal, measure, pair


def test_every_backend_is_listed_once() -> None:
    assert tuple(backend.name for backend in list_backends()) == BACKENDS
    cpu, *others = list_backends()
    assert (cpu.compiled, cpu.usable, cpu.init_status) == (True, True, "ok")
    assert cpu.threads >= 1
    assert not any(backend.compiled or backend.usable for backend in others)


def test_the_plain_instruction_set_always_works() -> None:
    assert usable_instruction_sets()[-1] == "plain"


def test_a_backend_is_never_replaced_by_another() -> None:
    assert start_backend("auto") == start_backend("cpu") == "cpu"
    with pytest.raises(BackendError, match="cuda"):
        start_backend("cuda")
    with pytest.raises(BackendError, match="abacus"):
        start_backend("abacus")
    with pytest.raises(BackendError, match="auto"):
        start_backend("auto", excluded=("cpu",))


def test_what_is_excluded_is_refused_by_name() -> None:
    with pytest.raises(BackendError, match="'cpu' can't start \\(it is excluded\\)"):
        start_backend("cpu", excluded=("cpu",))


class PlainVif(CpuDevice):
    """A second device: it has VIF alone, and computes it with the plain kernels."""

    name = "plain-vif"

    def __init__(self) -> None:
        super().__init__("plain")
        self.taken: list[int] = []  # the frames that its lanes took

    def workers(self, threads: int) -> int:
        return 1

    def computes(self, kind: type[Extractor]) -> bool:
        return kind is Vif

    def lane(self, geometry: Geometry) -> CpuLane:
        taken = self.taken

        class Counting(CpuLane):
            def take(self, frame: Frame, planes: int | None) -> Frame:
                taken.append(frame.index)
                return super().take(frame, planes)

        return Counting(geometry, self.instruction_set)


def test_a_measurement_mixes_devices_by_extractor_and_says_which_computed_what() -> None:
    second = PlainVif()
    devices: list[Device] = [second, CpuDevice()]
    with Measurement(threads=2, backend=devices) as measurement:
        measurement.add_model("vmaf_v0.6.1")
        for index in range(5):
            measurement.add(*pair(index))
        measurement.flush()
        mixed = measurement.results()
        assert measurement.backend == "plain-vif"
        assert measurement.threads == 2  # as many as the busiest device takes
        assert measurement.computed_by == {"adm": "cpu", "motion": "cpu", "vif": "plain-vif"}
    assert sorted(second.taken) == list(range(5))
    assert equal(mixed, measure(5, "vmaf_v0.6.1"))


def test_a_device_that_has_nothing_to_compute_takes_no_frame() -> None:
    second = PlainVif()
    with Measurement(backend=[second, CpuDevice()]) as measurement:
        measurement.add_feature("motion")
        measurement.add(*pair(0))
        measurement.flush()
    assert second.taken == []


def test_the_backend_travels_from_the_request_to_the_report(tmp_path: Path) -> None:
    planes = np.concatenate([picture.luma.ravel() for picture in pair(0)[:1]])
    clip = tmp_path / f"clip_{WIDTH}x{HEIGHT}_gray.yuv"
    clip.write_bytes(planes.tobytes())
    size = {"width": WIDTH, "height": HEIGHT, "pixel_format": "400", "bitdepth": 8}
    about = acuity.score(clip, clip, backend="cpu", feature="psnr", **size).about()
    assert about["backend"] == "cpu"
    assert about["computed_by"] == {"adm": "cpu", "motion": "cpu", "psnr": "cpu", "vif": "cpu"}
    with pytest.raises(BackendError, match="cuda"):
        acuity.score(clip, clip, backend="cuda", **size)
