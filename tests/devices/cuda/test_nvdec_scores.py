"""Scores of videos that the card decodes: the figures, notes and refusals of those that the CPU decodes."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.devices import Opened, open_decoder
from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.device import CudaDevice
from acuity.devices.cuda.nvdec import driver_library
from acuity.devices.cuda.nvdec import library as nvdec_library
from acuity.devices.cuda.nvdec.complaints import COMPLAINTS
from acuity.devices.cuda.nvdec.surfaces import Surfaces
from acuity.errors import BackendError, InputError, PairingError
from acuity.scoring import run
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.alignment.signature import sign
from acuity.video.card_picture import on_host
from acuity.video.picture import Picture, PixelFormat, Samples
from coded_clips import CODED, clip
from emulated_card import EmulatedCard, needs_compiler
from fake_driver import FakeDriver
from fake_nvdec import FakeNvdec

pytestmark = needs_compiler


Fake = FakeNvdec | FakeDriver


@pytest.fixture(params=[FakeNvdec, FakeDriver])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A machine with a card that decodes, by PyNvVideoCodec or by the driver's own library."""
    found: Fake = request.param(engines=2)
    if isinstance(found, FakeDriver):
        monkeypatch.setenv(driver_library.VARIABLE, "1")
        monkeypatch.setattr(driver_library, "load_functions", lambda: found)
    else:
        monkeypatch.setattr(nvdec_library, "is_installed", lambda: True)
        monkeypatch.setattr(nvdec_library, "load_library", lambda: found)

    def open_backend(*_: Any) -> Opened:
        return Opened([CudaDevice(EmulatedCard()), CpuDevice()])

    monkeypatch.setattr(run, "open_backend", open_backend)
    return found


def pair_of_clips(folder: Path, frames: int = 40, **more: str) -> tuple[Path, Path]:
    coded = CODED["h264"]
    return clip(folder / "ref.mp4", coded, frames, crf="4"), clip(folder / "dis.mp4", coded, frames, **more)


def scored(ref: Path, dis: Path, decoder: str, **options: Any) -> Any:
    settings: dict[str, Any] = {"features": ["motion", "float_moment", "psnr"], **options}
    return run_request(Request(ref, dis, models=(), decoder=decoder, **settings))


def test_figures_notes_and_description_are_those_of_the_cpu(library: Fake, tmp_path: Path) -> None:
    ref, dis = pair_of_clips(tmp_path, crf="40")
    expected = scored(ref, dis, "cpu")
    assert library.decoders == 0
    found = scored(ref, dis, "nvdec")
    assert library.decoders == 2
    assert isinstance(library, FakeDriver) or library.settings["usedevicememory"]
    assert found.notes == expected.notes
    assert found.input == expected.input
    assert list(found.results.columns) == list(expected.results.columns)
    for name, column in expected.results.columns.items():
        np.testing.assert_array_equal(found.results.columns[name], column)


def test_frames_that_are_lost_are_refused_alike(library: Fake, tmp_path: Path) -> None:
    ref, _ = pair_of_clips(tmp_path, 60)
    told = []
    for decoder in ("cpu", "nvdec"):
        with pytest.raises(PairingError) as error:
            scored(ref, ref, decoder, skip_dis=4, features=["psnr"])
        told.append(str(error.value))
    assert told[0] == told[1]
    assert library.decoders == 2


def test_videos_that_are_converted(library: Fake, tmp_path: Path) -> None:
    ref, _ = pair_of_clips(tmp_path, 20)
    half = clip(tmp_path / "half.mp4", CODED["h264"], 20, width=32, height=48)
    options: dict[str, Any] = {"scale": "force", "features": ["psnr"], "align": "off"}
    library.smallest = (16, 16)
    expected, found = (scored(ref, half, decoder, **options) for decoder in ("cpu", "auto"))
    assert library.decoders == 1  # the reference's
    np.testing.assert_array_equal(found.results.columns["psnr_y"], expected.results.columns["psnr_y"])
    with pytest.raises(
        InputError, match=r"half\.mp4' can't be decoded on the card, because its pictures are con"
    ):
        scored(ref, half, "nvdec", **options)


def test_a_named_decoder_has_something_to_decode(library: Fake, tmp_path: Path) -> None:
    coded, _ = pair_of_clips(tmp_path, 4)
    with acuity.open_video(coded) as video:
        size = {"width": video.info.width, "height": video.info.height}
        frames = b"".join(plane.tobytes() for picture in video for plane in picture.planes)
    raw = tmp_path / "ref.yuv"
    raw.write_bytes(frames)
    geometry = {**size, "pixel_format": "420", "bitdepth": 8}
    expected = scored(raw, coded, "cpu", **geometry)
    found = scored(raw, coded, "nvdec", **geometry)  # one of them is decoded
    assert library.decoders == 1
    np.testing.assert_array_equal(found.results.columns["psnr_y"], expected.results.columns["psnr_y"])
    for decoder in ("auto", "cpu"):
        assert scored(raw, raw, decoder, **geometry).results.columns["psnr_y"].size == 4
    with pytest.raises(InputError) as caught:
        scored(raw, raw, "nvdec", **geometry)
    assert str(caught.value) == (
        "decoder='nvdec' has no encoded file to decode: raw video, Y4M and images are read without it, so "
        "leave out decoder"
    )


def test_a_decoder_that_is_unknown_or_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvdec_library, "find_spec", lambda name: None)
    cuda = CudaDevice(EmulatedCard())
    assert open_decoder("auto", [cuda]) == open_decoder("cpu", [cuda]) == (None, None)
    with pytest.raises(
        BackendError, match=r"'nvdec' can't start: PyNvVideoCodec is not installed: pip install"
    ):
        open_decoder("nvdec", [cuda])
    with pytest.raises(BackendError, match="decodes on the card that computes, and here the CPU does"):
        open_decoder("nvdec", [CpuDevice()])
    assert open_decoder("auto", [CpuDevice()]).containers is None
    with pytest.raises(BackendError, match="decoder='vdpau' is unknown: use one of auto, cpu, nvdec"):
        open_decoder("vdpau", [cuda])


def test_a_library_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "PyNvVideoCodec.py").write_text("raise RuntimeError('libnvidia-encode.so: none\\n\\nSTEPS')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "PyNvVideoCodec", raising=False)  # the real one
    cuda = CudaDevice(EmulatedCard())
    declined = open_decoder("auto", [cuda]).declined
    assert "PyNvVideoCodec can't start (libnvidia-encode.so: none): start a container with" in str(declined)
    with pytest.raises(BackendError, match="the decoder 'nvdec' can't start"):
        open_decoder("nvdec", [cuda])


def test_a_driver_without_its_decoding_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(driver_library.VARIABLE, "1")
    monkeypatch.setattr(driver_library, "LIBRARY", "libnvcuvid-none.so.1")
    cuda = CudaDevice(EmulatedCard())
    declined = open_decoder("auto", [cuda]).declined
    assert "the driver's library libnvcuvid-none.so.1 can't be loaded (" in str(declined)
    assert "start a container with the driver's video part" in str(declined)
    with pytest.raises(BackendError, match="the decoder 'nvdec' can't start"):
        open_decoder("nvdec", [cuda])


@pytest.mark.parametrize(("depth", "size"), [(8, (71, 53)), (10, (71, 53)), (12, (130, 200)), (8, (16, 9))])
def test_surfaces_become_pictures(depth: int, size: tuple[int, int]) -> None:
    width, height = size
    format = PixelFormat("420", depth)
    rng = np.random.default_rng(1)
    planes: tuple[Samples, ...] = tuple(
        rng.integers(0, 1 << depth, shape).astype(format.dtype)
        for shape in format.plane_shapes(width, height)
    )
    even, half = width + width % 2, (height + 1) // 2
    surface = np.zeros((height + half, even), format.dtype)
    shift = 0 if depth == 8 else 16 - depth
    surface[:height, :width] = planes[0] << shift
    surface[height:, 0::2], surface[height:, 1::2] = planes[1] << shift, planes[2] << shift
    card = EmulatedCard()
    surfaces = Surfaces(card, card.stream(), width, height, format, luma_only=False)
    pitch = surface.strides[0]
    made = surfaces.unpack(surface.ctypes.data, surface.ctypes.data + pitch * height, pitch)
    picture = surfaces.picture(made, 1.5)
    for plane, wanted in zip(on_host(picture).planes, planes, strict=True):
        np.testing.assert_array_equal(plane, wanted)
    np.testing.assert_array_equal(sign(picture), sign(Picture(planes, format)))
    np.testing.assert_array_equal(picture.thinned(4), planes[0][::4, ::4])


def test_complaints_are_caught_and_counted(capfd: pytest.CaptureFixture[str]) -> None:
    c = ctypes.CDLL(None)
    before = COMPLAINTS.count()
    COMPLAINTS.listen()
    c.printf(b"Decode Error occurred for picture %d\n", 3)
    c.printf(b"session ready\n")
    print("a word of our own", flush=True)
    assert COMPLAINTS.count() == before + 1
    COMPLAINTS.leave()
    c.printf(b"printed again\n")
    c.fflush(None)
    assert capfd.readouterr().out == "a word of our own\nprinted again\n"
