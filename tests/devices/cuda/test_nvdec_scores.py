"""Scores of videos that the card decodes: the figures, notes and refusals of those that the CPU decodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.devices import Opened, open_decoder
from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.nvdec import library as nvdec_library
from acuity.errors import BackendError, InputError, PairingError
from acuity.scoring import run
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from coded_clips import CODED, HEIGHT, WIDTH, clip
from emulated_card import needs_compiler
from fake_cuda import emulated_card
from fake_driver import FakeDriver

pytestmark = needs_compiler


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> CudaDevice:
    """The card of this machine."""
    device = CudaDevice(emulated_card())
    monkeypatch.setattr(run, "open_backend", lambda *_: Opened([device, CpuDevice()]))
    return device


@pytest.fixture
def library(cuda: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A machine with a card that decodes."""
    found = FakeDriver(engines=2)
    monkeypatch.setattr(nvdec_library, "load_functions", lambda: found)
    return found


def pair_of_clips(folder: Path, frames: int = 8, **more: str) -> tuple[Path, Path]:
    coded = CODED["h264"]
    return clip(folder / "ref.mp4", coded, frames, crf="4"), clip(folder / "dis.mp4", coded, frames, **more)


def scored(ref: Path, dis: Path, decoder: str, **options: Any) -> Any:
    settings: dict[str, Any] = {"features": ["motion", "float_moment", "psnr"], **options}
    return run_request(Request(ref, dis, models=(), decoder=decoder, **settings))


def test_figures_notes_and_description_are_those_of_the_cpu(library: FakeDriver, tmp_path: Path) -> None:
    ref, dis = pair_of_clips(tmp_path, crf="40")
    expected = scored(ref, dis, "cpu")
    assert library.decoders == 0
    found = scored(ref, dis, "nvdec")
    assert library.decoders == 2
    assert found.notes == expected.notes
    assert found.input == expected.input
    assert list(found.results.columns) == list(expected.results.columns)
    for name, column in expected.results.columns.items():
        np.testing.assert_array_equal(found.results.columns[name], column)


def test_frames_that_are_lost_are_refused_alike(library: FakeDriver, tmp_path: Path) -> None:
    ref, _ = pair_of_clips(tmp_path, 20)
    told = []
    for decoder in ("cpu", "nvdec"):
        with pytest.raises(PairingError) as error:
            scored(ref, ref, decoder, skip_dis=4, features=["psnr"])
        told.append(str(error.value))
    assert told[0] == told[1]
    assert library.decoders == 2


def test_videos_that_are_converted(library: FakeDriver, tmp_path: Path) -> None:
    ref, _ = pair_of_clips(tmp_path, 6)
    half = clip(tmp_path / "half.mp4", CODED["h264"], 6, width=32, height=48)
    options: dict[str, Any] = {"scale": "force", "features": ["psnr"], "align": "off"}
    library.smallest = (16, 16)
    expected, found = (scored(ref, half, decoder, **options) for decoder in ("cpu", "auto"))
    assert library.decoders == 1  # the reference's
    np.testing.assert_array_equal(found.results.columns["psnr_y"], expected.results.columns["psnr_y"])
    with pytest.raises(
        InputError, match=r"half\.mp4' can't be decoded on the card, because its pictures are con"
    ):
        scored(ref, half, "nvdec", **options)


def test_a_named_decoder_has_something_to_decode(library: FakeDriver, tmp_path: Path) -> None:
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


def test_a_decoder_that_is_unknown_or_not_here(cuda: CudaDevice, library: FakeDriver) -> None:
    assert open_decoder("cpu", [cuda]) == (None, None)
    with pytest.raises(BackendError, match="decodes on the card that computes, and here the CPU does"):
        open_decoder("nvdec", [CpuDevice()])
    assert open_decoder("auto", [CpuDevice()]).containers is None
    with pytest.raises(BackendError, match="decoder='vdpau' is unknown: use one of auto, cpu, nvdec"):
        open_decoder("vdpau", [cuda])


def test_a_driver_without_its_decoding_library(
    cuda: CudaDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(nvdec_library, "LIBRARY", "libnvcuvid-none.so.1")
    told = "decoded on the CPU: the driver's library libnvcuvid-none.so.1 can't be loaded ("
    ref, dis = pair_of_clips(tmp_path, 4)
    (note,) = scored(ref, dis, "auto").notes
    assert note.code == "decoder"
    assert note.text.startswith(told)
    assert "start a container with the driver's video part, as NVIDIA_DRIVER_CAPABILITIES=" in note.text
    assert note.text.endswith(", or pass decoder='cpu'")
    assert scored(ref, dis, "cpu").notes == []
    with pytest.raises(BackendError, match="the decoder 'nvdec' can't start: the driver's library"):
        scored(ref, dis, "nvdec")
    raw = tmp_path / "clip.yuv"
    raw.write_bytes(bytes(range(256)) * (WIDTH * HEIGHT * 3 // 2 // 256))
    size = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
    assert all(note.code != "decoder" for note in scored(raw, raw, "auto", **size).notes)
