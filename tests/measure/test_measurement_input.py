"""What a measurement takes: pictures and arrays, and sentences for those it doesn't."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from acuity.errors import BackendError, FeatureError, InputError, PairingError
from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat
from moving_pictures import HEIGHT, WIDTH, equal, luma, measure, measuring, pair

V061 = "vmaf_v0.6.1"


def test_arrays_are_copied_and_pictures_are_not() -> None:
    expected = measure(3, V061)
    ref, dis = np.empty((HEIGHT, WIDTH), np.uint8), np.empty((HEIGHT, WIDTH), np.uint8)
    with measuring(V061, threads=2) as measurement:
        for index in range(3):
            ref[:], dis[:] = luma(index), luma(index, worse=True)
            measurement.add(ref, dis)
        ref[:] = dis[:] = 0
        measurement.flush()
        assert equal(measurement.results(), expected)


@pytest.mark.parametrize("backend", [None, 5, [], (), ["cpu"], {"cpu"}, b"cpu"])
def test_what_is_no_backend(backend: Any) -> None:
    with pytest.raises(BackendError) as caught:
        Measurement(backend=backend)
    assert str(caught.value) == f"{backend!r} is no backend: name one, or one of its cards, as cuda:0"


def test_arrays_may_be_strided_and_have_chroma() -> None:
    chroma = np.zeros((HEIGHT // 2, WIDTH // 2), np.uint8)
    with measuring(V061) as measurement:
        for index in range(3):
            ref = np.repeat(luma(index), 2, axis=1)[:, ::2]
            measurement.add((ref, chroma, chroma), (luma(index, worse=True), chroma, chroma))  # type: ignore[arg-type]
        measurement.flush()
        assert equal(measurement.results(), measure(3, V061))


def test_deep_arrays_say_their_depth() -> None:
    with measuring(features=("vif",)) as measurement:
        measurement.add(luma(0, depth=10), luma(0, depth=10, worse=True), bitdepth=10)
        measurement.flush()
        found = measurement.results()
    with measuring(features=("vif",)) as measurement:
        measurement.add(*pair(0, depth=10))
        measurement.flush()
        assert equal(measurement.results(), found)


def test_pictures_that_do_not_fit_are_explained() -> None:
    small = np.zeros((40, 40), np.uint8)
    with measuring(features=("vif",)) as measurement:
        said = "the reference is 70x52 at 8 bits and the distorted picture 40x40"
        with pytest.raises(PairingError, match=said):
            measurement.add(luma(0), small)
        measurement.add(luma(0), luma(0))
        with pytest.raises(InputError, match="frame 1 is 40x40 at 8 bits, but the video was 70x52"):
            measurement.add(small, small)


def test_samples_deeper_than_said_are_refused() -> None:
    good, bad = luma(0, depth=10), luma(0, depth=10)
    bad[HEIGHT - 1, WIDTH - 1] = 1024
    with measuring(features=("motion",)) as measurement:
        measurement.add(good, good, bitdepth=10)
        measurement.add(good, bad, bitdepth=10)
        said = "frame 1 of the distorted video has the sample 1024, and 10 bits"
        with pytest.raises(InputError, match=said):
            measurement.flush()


def test_sizes_without_an_answer_are_refused_with_the_reason() -> None:
    tiny = np.zeros((16, 64), np.uint8)
    said = "adm needs pictures of at least 17x17 samples, because its coarsest"
    with measuring(V061) as measurement, pytest.raises(FeatureError, match=said):
        measurement.add(tiny, tiny)


LUMA = np.zeros((HEIGHT, WIDTH), np.uint8)
GREY = PixelFormat("400", 8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([LUMA], "not something of type list"),
        (None, "not something of type NoneType"),
        ("luma", "not something of type str"),
        (7, "not something of type int"),
        ((), "not an empty tuple"),
        ((LUMA, None, None), "not something of type NoneType"),
        (LUMA.astype(float), "must be uint8 or uint16 arrays, and these are float64: scale and round"),
        (LUMA[np.newaxis], "must be an array of rows and columns"),
        (LUMA[:0], f"planes of shapes [(0, {WIDTH})] have no samples: pass arrays of at least one row"),
        ((LUMA, LUMA[:0, :0], LUMA[:0, :0]), "(0, 0)] have no samples"),
        (Picture((LUMA[:, :0],), GREY), f"planes of shapes [({HEIGHT}, 0)] have no samples"),
        ((LUMA, LUMA[:5, :5]), "are no 400, 420, 422 or 444 picture"),
        (Picture((), GREY), "has no planes"),
        (Picture((LUMA.astype(np.uint16),), GREY), "8 bits are uint8, and a plane of the Picture is <u2"),
        (Picture((LUMA.astype(">u2"),), PixelFormat("400", 10)), "a plane of the Picture is >u2"),
        (Picture((np.asfortranarray(LUMA),), GREY), "lie one after the other"),
        (Picture((LUMA[:, ::-1],), GREY), "lie one after the other"),
        (Picture((LUMA[np.newaxis],), GREY), "one is of shape"),
        (Picture(([1, 2],), GREY), "one is list"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_picture_gets_a_sentence(given: Any, words: str) -> None:
    with measuring(V061, threads=1) as measurement:
        with pytest.raises(InputError, match=re.escape(words)):
            measurement.add(given, given)
        assert measurement.frames == 0


@pytest.mark.parametrize(
    ("bitdepth", "said"),
    [
        ("10", "bitdepth='10' is no depth of samples: pass bitdepth=10"),
        (17, "bitdepth=17 is no depth of samples"),
        (8, "uint16 samples cannot have bitdepth=8"),
        (None, "uint16 samples cannot have bitdepth=None: pass bitdepth=10, 12 or 16, whichever"),
    ],
)
def test_a_bit_depth_that_cannot_be(bitdepth: Any, said: str) -> None:
    deep = luma(0, depth=10)
    with measuring(features=("psnr",), threads=1) as measurement:
        with pytest.raises(InputError, match=re.escape(said)):
            measurement.add(deep, deep, bitdepth=bitdepth)
        measurement.add(deep, deep, bitdepth=np.int64(10))  # type: ignore[arg-type]
        assert measurement.frames == 1
