"""Batches become as small as the card's free memory demands; what doesn't fit at all is told."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from acuity.devices import Opened
from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.conveyor import CudaConveyor
from acuity.devices.cuda.fitting import STREAMS, CardFit, Needs, batch_frames, fits, memory_needed
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.stage import TwinGroup
from acuity.errors import BackendError, CardMemoryError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.scoring import run
from acuity.scoring.request import Request
from array_bench import columns, measured, on_cpu
from emulated_card import needs_compiler
from fake_cuda import FakeCuda
from twin_bench import random_frames

SMALL = Geometry(32, 32, 8)
LARGE = Geometry(7680, 4320, 10, (3840, 2160))
MIB = 1 << 20


def group(name: str) -> TwinGroup:
    return TwinGroup(get_extractor(name), [get_extractor(name)()])


def test_fits_become_smaller_down_to_one_frame_in_one_stream() -> None:
    found = list(fits(Geometry(1920, 1080, 8)))
    assert found == [CardFit(8, 3), CardFit(4, 3), CardFit(2, 3), CardFit(1, 3), CardFit(1, 2), CardFit(1, 1)]
    assert list(fits(LARGE)) == [CardFit(1, 3), CardFit(1, 2), CardFit(1, 1)]
    assert next(fits(SMALL)) == CardFit(batch_frames(SMALL), STREAMS)


@pytest.mark.parametrize("geometry", [SMALL, Geometry(67, 51, 10, (34, 26))])
@pytest.mark.parametrize("names", [["motion"], ["vif", "adm", "motion"], ["psnr", "cambi"]])
def test_what_is_needed_is_what_is_taken(
    cuda: FakeCuda, card: Card, geometry: Geometry, names: list[str]
) -> None:
    groups = [group(name) for name in names]
    conveyor = CudaConveyor(card, geometry)
    conveyor.prepare(None, groups)
    needed = memory_needed(card, Needs(geometry, None, groups), CardFit(conveyor.most, STREAMS))
    assert cuda.in_use() <= needed <= cuda.in_use() + 512 * len(cuda.blocks)


FRAMES = random_frames(90, 32, 32, 8)


@needs_compiler
@pytest.mark.parametrize("memory", [2 * MIB, 400_000, 120_000])
def test_less_memory_means_smaller_batches_and_the_same_digits(
    cuda: FakeCuda, card: Card, memory: int
) -> None:
    cuda.memory = memory
    found = measured([CudaDevice(card), CpuDevice()], FRAMES, "motion")
    assert columns(found) == on_cpu(FRAMES, "motion")
    assert found.computed_by == {"motion": "cuda"}
    most = max(shape[2] for _, shape, _ in cuda.launches)
    assert 1 <= most < batch_frames(SMALL)


def test_a_frame_that_does_not_fit_is_told_with_what_would(cuda: FakeCuda, card: Card) -> None:
    cuda.memory = 300 * MIB
    conveyor = CudaConveyor(card, LARGE)
    with pytest.raises(CardMemoryError) as caught:
        conveyor.prepare(1, [group("vif"), group("adm"), group("motion")])
    assert re.fullmatch(
        r"card 0 \(Fake 0\) has 0\.3 GiB of memory free, and one frame of 7680x4320 needs 0\.\d GiB for vif, "
        r"adm, motion, which would fit at 3840x2160: end what else uses it, choose another card, or pass "
        r"backend='cpu'",
        str(caught.value),
    )
    assert caught.value.free == 300 * MIB < caught.value.wanted
    assert cuda.in_use() == 0  # nothing is kept
    both = [group("vif"), group("motion")]
    cuda.memory = memory_needed(card, Needs(LARGE, 1, both), CardFit(1, 1)) - MIB
    conveyor = CudaConveyor(card, LARGE)
    with pytest.raises(CardMemoryError, match="which would fit without vif or at 3840x2160: end"):
        conveyor.prepare(1, both)
    cuda.memory = MIB
    conveyor = CudaConveyor(card, LARGE)
    with pytest.raises(CardMemoryError, match="GiB for motion: end what else uses it"):
        conveyor.prepare(1, [group("motion")])


def test_a_failure_that_is_not_of_size_stays_what_it_was(cuda: FakeCuda, card: Card) -> None:
    conveyor = CudaConveyor(card, SMALL)
    cuda.failures["malloc"] = 2  # though so much is free
    with pytest.raises(CardMemoryError, match=r"has 1\.0 GiB of memory free, and .* more are needed"):
        conveyor.prepare(1, [group("motion")])
    cuda.failures["malloc"] = 46
    with pytest.raises(BackendError, match="another process has the card"):
        CudaConveyor(card, SMALL).prepare(1, [group("motion")])


@needs_compiler
def test_batches_become_smaller_when_more_is_measured(cuda: FakeCuda, card: Card) -> None:
    frames = random_frames(3, 32, 32, 8)
    motion, adm = group("motion"), group("adm")
    conveyor = CudaConveyor(card, SMALL)
    conveyor.prepare(1, [motion])
    conveyor.start(frames, 1, [(motion, range(3))])
    cuda.memory = cuda.in_use() + 100_000
    with pytest.raises(CardMemoryError):  # a batch is under way, whose figures would be lost
        conveyor.prepare(1, [motion, adm])
    found = conveyor.finish()
    assert [entry.numbers for entry in found] == [[0, 1, 2]]
    conveyor.prepare(1, [motion, adm])
    assert conveyor.most < batch_frames(SMALL)
    conveyor.start(frames[:2], 1, [(motion, range(2)), (adm, range(2))])
    (again, _) = conveyor.finish()
    for key, values in found[0].columns.items():
        np.testing.assert_equal(np.asarray(values)[:2], np.asarray(again.columns[key]))


def test_a_card_that_was_named_is_not_replaced(cuda: FakeCuda, card: Card) -> None:
    cuda.memory = 1000
    with pytest.raises(CardMemoryError, match=r"one frame of 32x32 needs 0\.\d MiB for motion: end"):
        measured([CudaDevice(card), CpuDevice()], FRAMES, "motion")


def test_auto_takes_the_cpu_and_says_why(
    cuda: FakeCuda, card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda.memory = 1000
    devices = [CudaDevice(card), CpuDevice()]
    found = measured(devices, FRAMES, "motion", may_decline=True)
    assert columns(found) == on_cpu(FRAMES, "motion")
    assert (found.computed_by, found.backend, found.card) == ({"motion": "cpu"}, "cpu", None)
    assert isinstance(found.declined, CardMemoryError)

    monkeypatch.setattr(run, "open_backend", lambda *_: Opened(devices, automatic=True))
    files = [tmp_path / "ref.yuv", tmp_path / "dis.yuv"]
    for file in files:
        file.write_bytes(bytes(64 * 64 * 3 // 2 * 2))
    told = run.run_request(
        Request(*map(str, files), width=64, height=64, pixel_format="420", bitdepth=8, features=["motion"])
    )
    (note,) = [note for note in told.notes if note.code == "backend"]
    assert "computed on the CPU: card 0 (Fake 0) has" in str(note.text)
    assert (told.backend, told.card) == ("cpu", None)
