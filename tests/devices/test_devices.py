"""Devices: what there is, that none stands in for another, and that a measurement may use several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.devices import (
    BACKENDS,
    Device,
    are_spent,
    describe_backend,
    device_for,
    list_backends,
    open_backend,
    open_devices,
    start_backend,
)
from acuity.devices.cpu import CpuDevice, CpuLane
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.hardware import cards
from acuity.errors import BackendError, CardLost
from acuity.features.extractor import Extractor, Frame, Geometry
from acuity.features.ssimulacra2 import Ssimulacra2
from acuity.features.vif import Vif
from fake_cuda import FakeCuda, fake_cards
from moving_pictures import HEIGHT, WIDTH, equal, measure, measuring, pair

pytestmark = pytest.mark.usefixtures("without_cuda")


def test_every_backend_is_listed_once() -> None:
    assert tuple(backend.name for backend in list_backends()) == BACKENDS
    cpu, *others = list_backends()
    assert (cpu.compiled, cpu.usable, cpu.init_status) == (True, True, "ok")
    assert cpu.threads >= 1
    assert not any(backend.compiled or backend.usable for backend in others)


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
    with measuring("vmaf_v0.6.1", frames=5, threads=2, backend=devices) as measurement:
        measurement.flush()
        mixed = measurement.results()
        assert measurement.backend == "plain-vif"
        assert measurement.threads == 2  # as many as the busiest device takes
        assert measurement.computed_by == {"adm": "cpu", "motion": "cpu", "vif": "plain-vif"}
    assert sorted(second.taken) == list(range(5))
    assert equal(mixed, measure(5, "vmaf_v0.6.1"))


def test_no_card_computes_what_reads_more_than_the_planes() -> None:
    class Everything(CpuDevice):
        name = "card"

    devices: list[Device] = [Everything(), CpuDevice()]
    planes = Geometry(64, 64, 8, (64, 64))
    assert device_for(devices, Ssimulacra2, planes).name == "card"
    assert device_for(devices, Ssimulacra2, replace(planes, finer=True)).name == "cpu"
    assert device_for(devices, Vif, replace(planes, finer=True)).name == "card"


SIZE: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixel_format": "400", "bitdepth": 8}


def grey_clip(folder: Path) -> Path:
    clip = folder / f"clip_{WIDTH}x{HEIGHT}_gray.yuv"
    clip.write_bytes(pair(0)[0].luma.tobytes())
    return clip


def test_the_backend_travels_from_the_request_to_the_report(tmp_path: Path) -> None:
    clip = grey_clip(tmp_path)
    about = acuity.score(clip, clip, backend="cpu", feature="psnr", **SIZE).about()
    assert about["backend"] == "cpu"
    assert about["computed_by"] == {"adm": "cpu", "motion": "cpu", "psnr": "cpu", "vif": "cpu"}
    with pytest.raises(BackendError, match="cuda"):
        acuity.score(clip, clip, backend="cuda", **SIZE)


def test_auto_takes_a_card_and_cpu_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cards(monkeypatch, cuda := FakeCuda(2))
    for backend, excluded in (("cpu", ()), ("auto", ("cuda",)), ("auto", BACKENDS[1:])):
        assert open_backend(backend, excluded).devices[0].name == "cpu"
    assert cuda.calls == []
    opened = open_backend("auto")
    assert [device.name for device in opened.devices] == ["cuda", "cpu"]
    assert (opened.declined, opened.notes()) == (None, [])
    assert opened.devices[0].describe()["card"] == "Fake 0"
    assert start_backend("auto") == start_backend("cuda") == "cuda"


@pytest.mark.parametrize(
    ("backend", "device", "excluded", "number"),
    [
        ("cuda:1", None, (), 1),
        ("cuda", 1, (), 1),
        ("cuda:1", 1, (), 1),
        ("auto", 1, (), 1),
        ("auto", None, ("cuda:0",), 1),
        ("cuda", None, ("cuda:0", "cuda:7", "sycl"), 1),
    ],
)
def test_a_card_is_chosen(
    monkeypatch: pytest.MonkeyPatch, backend: str, device: int | None, excluded: tuple[str, ...], number: int
) -> None:
    fake_cards(monkeypatch, cuda := FakeCuda(2))
    opened = open_backend(backend, excluded, device=device)
    assert opened.devices[0].describe()["number"] == number
    assert cuda.calls == [f"setDevice {number}"]


@pytest.mark.parametrize(
    ("backend", "device", "excluded", "sentence"),
    [
        ("cuda:2", None, (), "the backend 'cuda:2' can't start: there is no card 2: there are cards 0 to 1"),
        ("auto", 5, (), "the backend 'auto' can't start: there is no card 5"),
        ("cuda", None, ("cuda:0", "cuda:1"), "the backend 'cuda' can't start (it is excluded)"),
        ("cuda:1", None, ("cuda:1",), "the backend 'cuda:1' can't start (it is excluded)"),
        ("cuda:1", 0, (), "device=0 is no card of the backend 'cuda:1': leave out device"),
        ("cpu", 0, (), "device=0 is no card of the backend 'cpu': leave out device"),
        ("cpu:0", None, (), "'cpu:0' is no backend: name one, or one of its cards, as cuda:0"),
        ("cuda:x", None, (), "'cuda:x' is no backend"),
        (f"cuda:{'9' * 5000}", None, (), "'cuda:999"),
        ("cuda", -1, (), "device=-1 is no card: cards have numbers from 0 to"),
        ("cuda", 10**30, (), "device is no card: cards have numbers from 0 to"),
        ("auto", 0, ("cuda",), "device=0 is a card, and cuda is excluded: leave out device"),
        *(
            (name, None, (), f"the backend '{name}' can't start (unknown): use one of auto, cpu, cuda")
            for name in ("CUDA", "gpu", "")
        ),
        ("cuda:", None, (), "'cuda:' is no backend"),
        (None, None, (), "None is no backend: name one, or one of its cards, as cuda:0"),
        (5, None, (), "5 is no backend"),
        ("sycl:0", None, (), "the backend 'sycl:0' can't start (not in this version): use one of auto, cpu"),
    ],
)
def test_a_card_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    device: int | None,
    excluded: tuple[str, ...],
    sentence: str,
) -> None:
    fake_cards(monkeypatch, FakeCuda(2))
    with pytest.raises(BackendError) as caught:
        open_backend(backend, excluded, device=device)
    assert str(caught.value).startswith(sentence)


def test_auto_says_why_it_took_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert open_backend("auto").declined is None  # nobody expects a card here
    fake_cards(monkeypatch, cuda := FakeCuda())
    cuda.driver_version = 12040
    clip = grey_clip(tmp_path)
    report = acuity.score(clip, clip, **SIZE)
    (note,) = [note for note in report.notes if note.code == "backend"]
    assert note.text.startswith("computed on the CPU: NVIDIA's driver")
    assert note.text.endswith("install cupy-cuda12x in place of cupy-cuda13x, or pass backend='cpu'")
    assert report.about()["backend"] == "cpu"
    quiet = acuity.score(clip, clip, backend="cpu", **SIZE)
    assert [note for note in quiet.notes if note.code == "backend"] == []
    assert open_backend("auto", ["cuda:0"]).declined is not None  # the driver fails before a card is excluded
    cuda.driver_version = 13000
    assert open_backend("auto", ["cuda:0"]).declined is None


@pytest.mark.parametrize(
    ("installed", "traces", "told"), [(True, False, "no NVIDIA driver"), (False, True, "CuPy")]
)
def test_auto_imports_nothing_where_it_can_tell_without(
    monkeypatch: pytest.MonkeyPatch, installed: bool, traces: bool, told: str
) -> None:
    monkeypatch.setattr("acuity.devices.signs.is_installed", lambda: installed)
    monkeypatch.setattr("acuity.devices.signs.has_traces", lambda: traces)
    monkeypatch.setattr(cards, "CARDS", cards.Cards(lambda: pytest.fail("it was imported")))
    opened = open_backend("auto")
    assert told in str(opened.declined)
    assert [device.name for device in opened.devices] == ["cpu"]


def test_a_device_belongs_to_one_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cards(monkeypatch, FakeCuda(2))
    first, second = open_devices("cuda"), open_devices("cuda")
    assert [devices[0].describe()["number"] for devices in (first, second)] == [0, 1]
    del second
    assert open_devices("cuda")[0].describe()["number"] == 1


def test_a_lost_card_is_told_and_ends_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cards(monkeypatch, cuda := FakeCuda())
    assert not are_spent()
    (device, _) = open_devices("cuda")
    assert isinstance(device, CudaDevice)
    cuda.lost = 719
    with pytest.raises(CardLost):
        device.card.allocate(1)
    assert are_spent()
    with pytest.raises(BackendError, match=r"the backend 'cuda' can't start: card 0 \(Fake 0\) failed"):
        open_devices("cuda")
    assert "failed while it computed" in str(open_backend("auto").declined)


def test_the_list_of_backends_names_the_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cards(monkeypatch, cuda := FakeCuda(2, 8 << 30))
    (found,) = [backend for backend in list_backends() if backend.name == "cuda"]
    assert (found.compiled, found.usable, found.init_status, len(found.cards)) == (True, True, "ok", 2)
    assert cuda.calls == []
    cuda.failures["setDevice"] = 46
    probed = describe_backend("cuda", probe=True)
    assert (probed.usable, probed.init_status) == (False, probed.cards[0]["problem"])
    assert "another process has the card for itself" in probed.init_status
    assert "backend=" not in probed.init_status
