"""A real card: memory, failures, digits and its decoders. `make test-cuda` shows it to these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.devices import describe_backend, open_backend
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.hardware.cards import CARDS, Cards
from acuity.devices.cuda.hardware.probe import check_card
from acuity.devices.cuda.nvdec.library import abilities, load_functions
from acuity.devices.cuda.nvdec.reader import NvdecReader
from acuity.errors import BackendError, CardMemoryError
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.readers.container import ContainerReader
from coded_clips import CODED, clip, decoded_alike
from damaged_clip import FRAGILE, damage
from moving_pictures import HEIGHT, WIDTH, equal, measure, measuring, pair


def _why_not() -> str | None:
    if "ACUITY_TEST_CUDA" not in os.environ:
        return "make test-cuda runs this"
    try:
        Cards().find()
    except BackendError as error:
        return str(error)
    return None


WHY_NOT = _why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")


@pytest.fixture(scope="module")
def card() -> Card:
    found = Cards().open(0)
    assert found is not None
    return found


def test_what_it_is(card: Card) -> None:
    about = describe_backend("cuda", probe=True)
    assert (about.compiled, about.usable, about.init_status) == (True, True, "ok")
    assert card.properties.memory >= card.free_memory() > 1 << 28
    assert card.properties.architecture.startswith("sm_")
    assert "CUDA" in card.properties.driver
    check_card(card)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("locked", [False, True])
def test_planes_go_there_and_back(card: Card, dtype: Any, locked: bool) -> None:
    rows, columns, pitch = 1081, 1917, 4096
    source = np.random.default_rng(1).integers(0, 255, (rows, columns + 5)).astype(dtype)
    if locked:
        held = card.pinned(source.nbytes).view(dtype).reshape(source.shape)
        held[:] = source
        source = held
    plane = source[:, :columns]
    assert card.is_pinned(plane) == locked
    memory, stream = card.allocate(pitch * rows), card.stream()
    assert memory.address % 256 == 0
    stream.clear(memory.address, pitch * rows)
    stream.upload(memory.address, pitch, plane)
    other = card.stream()
    other.after(stream.mark())
    back = card.pinned(pitch * rows)
    other.download(back, memory.address)
    event = other.mark()
    event.wait()
    assert event.reached()
    found = back.reshape(rows, pitch)
    width = columns * plane.itemsize
    assert found[:, :width].tobytes() == plane.tobytes()
    assert not found[:, width:].any()


def test_memory_is_short_and_given_back(card: Card) -> None:
    free = card.free_memory()
    with pytest.raises(CardMemoryError) as caught:
        card.allocate(1 << 46)
    assert 0 < caught.value.free < 1 << 46
    held = card.allocate(1 << 28)
    assert card.free_memory() <= free - (1 << 27)
    del held
    assert card.free_memory() >= free - (1 << 27)
    check_card(card)  # it goes on


def test_scores_are_those_of_the_cpu() -> None:
    opened = open_backend("auto")
    assert (opened.devices[0].name, opened.declined) == ("cuda", None)
    found = measure(30, "vmaf_v0.6.1", "vmaf_v0.6.1neg:name=neg", backend="cuda")
    assert equal(found, measure(30, "vmaf_v0.6.1", "vmaf_v0.6.1neg:name=neg", backend="cpu"))


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("wider", [0, 5])
def test_arrays_on_the_card(cupy: Any, depth: int, copy: bool, wider: int) -> None:
    """CuPy's arrays, some of them parts of wider ones; what the CPU computes is downloaded."""
    features = "psnr", "float_moment"
    told: list[int] = []
    with measuring("vmaf_v0.6.1", features=features, backend="cuda:0") as measurement:
        for index in range(30):
            ref, dis = (np.pad(picture.luma, [(0, 0), (0, wider)]) for picture in pair(index, depth))
            arrays = [cupy.asarray(samples)[:, :WIDTH] for samples in (ref, dis)]
            given = None if depth == 8 else depth
            measurement.add(*arrays, bitdepth=given, copy=copy, freed=lambda: told.append(1))
        measurement.flush()
        found = measurement.results()
    assert len(told) == 30
    with measuring("vmaf_v0.6.1", features=features, backend="cpu") as measurement:
        for index in range(30):
            measurement.add(*pair(index, depth))
        measurement.flush()
        assert equal(found, measurement.results())


class ByDlpack:
    """An array of a library that has DLPack alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **given: Any) -> Any:
        return self._array.__dlpack__(**given)


@pytest.mark.parametrize("library", ["cupy", "other"])
@pytest.mark.parametrize("stream", ["default", "own"])
def test_arrays_that_are_written_late_and_overwritten_at_once(cupy: Any, library: str, stream: str) -> None:
    size = HEIGHT * WIDTH
    theirs = cupy.cuda.Stream.null if stream == "default" else cupy.cuda.Stream(non_blocking=True)
    sources = [[cupy.asarray(picture.luma) for picture in pair(index)] for index in range(20)]
    arrays = [cupy.empty((HEIGHT, WIDTH), cupy.uint8) for _ in "rd"]
    large = [cupy.empty(1 << 29, cupy.uint8) for _ in "12"]
    cupy.cuda.Device().synchronize()
    with measuring("vmaf_v0.6.1", backend="cuda:0") as measurement, theirs:
        for pictures in sources:
            large[0].data.copy_from_device_async(large[1].data, 1 << 29, theirs)  # takes a while
            for array, source in zip(arrays, pictures, strict=True):
                array.data.copy_from_device_async(source.data, size, theirs)
            measurement.add(*(arrays if library == "cupy" else [ByDlpack(array) for array in arrays]))
            for array in arrays:
                array.data.memset_async(99, size, theirs)
        measurement.flush()
        assert equal(measurement.results(), measure(20, "vmaf_v0.6.1", backend="cpu"))


_RUN = """
import sys
from acuity.devices.cuda.hardware.cards import Cards
from acuity.errors import AcuityError
import numpy as np
card = Cards().open(0)
try:
{}
except AcuityError as error:
    print(type(error).__name__, error)
"""
_BAD_KERNEL = """
    (kernel,) = card.kernels("probe", ["probe"])
    stream = card.stream()
    kernel(stream, (1, 1, 1), (256, 1, 1), np.uint32(1), *[np.float32(1)] * 3, 8)
    stream.mark().wait()
"""
_FORK = """
    import os
    child = os.fork()
    if child == 0:
        Cards().open(0)
    os.waitpid(child, 0)
"""


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", _RUN.format(code)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_card_that_is_lost() -> None:
    told = run(_BAD_KERNEL)
    assert told.startswith("CardLost card 0 (")
    assert "failed while it computed" in told


def test_a_forked_process() -> None:
    assert "start it with 'spawn'" in run(_FORK)


# ---- decoding on the card ----

SIZE = {"width": 320, "height": 180}


def decoders() -> Any:
    """The driver's decoding library, which a container may lack."""
    try:
        return load_functions()
    except BackendError as error:
        pytest.skip(str(error))


def compared(path: Path, *, required: bool = False, **options: Any) -> tuple[int, int]:
    """How many pictures came, and how many of them from the card; each equals the CPU's."""
    card, library = CARDS.open(0), decoders()
    assert card is not None
    with ContainerReader(path, **options) as reader:
        if abilities(library, card, str(reader.info.codec), reader.info.format, 320, 180).problem is not None:
            pytest.skip(f"this card doesn't decode {reader.info.codec} of {reader.info.format}")
    other = NvdecReader(path, card=card, library=library, required=required, **options)
    return decoded_alike(path, other, **options)[:2]


@pytest.mark.parametrize("name", CODED)
def test_pictures(name: str, tmp_path: Path) -> None:
    assert compared(clip(tmp_path, CODED[name], 120, **SIZE), required=True) == (120, 120)


def test_open_groups_of_pictures(tmp_path: Path) -> None:
    path = clip(tmp_path, CODED["h264"], 90, **SIZE, **{"x264-params": "open-gop=1:bframes=3"})
    assert compared(path) == (90, 90)


def test_damage(tmp_path: Path) -> None:
    path = damage(clip(tmp_path, CODED["h264"], 60, **SIZE, **{"x264-params": FRAGILE}), 40)
    count, on_card = compared(path, allow_damaged=True)
    assert count == 60
    assert on_card < 60


def test_scores(tmp_path: Path) -> None:
    decoders()
    ref = clip(tmp_path / "ref.mp4", CODED["h264"], 60, **SIZE, crf="10")
    dis = clip(tmp_path / "dis.mp4", CODED["h264"], 60, **SIZE, crf="40")
    expected, found = (
        run_request(Request(ref, dis, models=("version=vmaf_v0.6.1",), backend="cuda", decoder=decoder))
        for decoder in ("cpu", "nvdec")
    )
    assert found.notes == expected.notes
    for name, column in expected.results.columns.items():
        np.testing.assert_array_equal(found.results.columns[name], column)
