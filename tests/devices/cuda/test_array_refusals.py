"""Arrays on the card that can't be read: each is refused in a sentence, before the card sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import InputError
from acuity.measure import Measurement
from array_bench import EXPORTS, on_card
from emulated_card import needs_compiler
from exporters import CudaInterface, Dlpack
from fake_cuda import FakeCuda, FakeStream, emulated_card, fake_card

pytestmark = needs_compiler

SAMPLES = np.zeros((32, 40), np.uint8)
WORDS = np.zeros((32, 40), np.uint16)


class Other(Dlpack):
    """Gives something else when it is asked for its array."""

    answer: Any = None

    def __dlpack__(self, **given: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def other(card: Any, answer: Any) -> Other:
    made = Other(card, SAMPLES)
    made.answer = answer
    return made


def used_capsule(card: Any) -> Any:
    source = Dlpack(card, SAMPLES)
    capsule = source.capsule()
    again = other(card, capsule)
    with on_card(card, "psnr") as measurement:
        measurement.add(again, Dlpack(card, SAMPLES))
    again.kept = source  # type: ignore[attr-defined]
    return again


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda c: Dlpack(c, SAMPLES.astype(np.int32)), "must be uint8 or uint16 arrays, and these are int32"),
    (lambda c: CudaInterface(c, SAMPLES.astype(np.float16)), "and these are float16: convert them"),
    (lambda c: CudaInterface(c, WORDS.astype(">u2")), "and these are >u2"),
    (lambda c: Dlpack(c, np.zeros((2, 32, 40), np.uint8)), "one has the shape (2, 32, 40)"),
    (lambda c: CudaInterface(c, np.zeros(40, np.uint8)), "one has the shape (40,)"),
    (lambda c: CudaInterface(c, np.zeros((0, 40), np.uint8)), "shape (0, 40) has no samples"),
    (lambda c: CudaInterface(c, SAMPLES, changes={"strides": (80, 2)}),
     "these are 2 bytes apart: pass array.con"),
    (lambda c: CudaInterface(c, SAMPLES, changes={"strides": (-40, 1)}),
     "40 bytes can't lie -40 bytes apart"),
    (lambda c: CudaInterface(c, SAMPLES, changes={"strides": (0, 1)}), "40 bytes can't lie 0 bytes apart"),
    (lambda c: CudaInterface(c, SAMPLES, changes={"strides": (1 << 31, 1)}),
     "can't lie 2147483648 bytes apart"),
    (lambda c: CudaInterface(c, WORDS, changes={"strides": (81, 2)}), "80 bytes can't lie 81 bytes apart"),
    (lambda c: CudaInterface(c, WORDS, offset=1), "which is odd, can't be read: pass a copy"),
    (lambda c: CudaInterface(c, SAMPLES, stream=0), "names the stream 0, which is none: pass 1"),
    (lambda c: CudaInterface(c, SAMPLES, changes={"mask": SAMPLES}), "an array with a mask"),
    (lambda c: Dlpack(c, SAMPLES, device=(2, 3)), "lies on card 3, and the measurement is on card 0: copy"),
    (lambda c: Dlpack(c, SAMPLES, device=(2, 3)), "or pass backend='cuda:3'"),
    (lambda c: Dlpack(c, SAMPLES, device=(10, 0)), "DLPack's kind 10, which is no NVIDIA card"),
    (lambda c: Dlpack(c, SAMPLES, major=2), "comes by DLPack 2.0, and this version of Acuity knows 1"),
    (lambda c: other(c, BufferError("it is being written")),
     "does not export its array (it is being written)"),
    (lambda c: other(c, 7), "has to return a capsule that nobody has taken, and it returned 7: export"),
    (used_capsule, "has to return a capsule that nobody has taken, and it returned <capsule"),
    (lambda c: (Dlpack(c, SAMPLES), SAMPLES, SAMPLES),
     "plane 0 of a picture lies on a card and plane 1 in the"),
    (lambda c: (SAMPLES, Dlpack(c, SAMPLES), SAMPLES),
     "plane 1 of a picture lies on a card and plane 0 in the"),
    (lambda c: (Dlpack(c, SAMPLES), Dlpack(c, SAMPLES)), "are no 400, 420, 422 or 444 picture"),
    (lambda c: (Dlpack(c, SAMPLES), *[Dlpack(c, WORDS)] * 2), "and these are uint8 and uint16"),
    (lambda c: Dlpack(c, WORDS), "pass bitdepth=10, 12 or 16"),
]  # fmt: skip


# What an interface says that isn't so, and what is said of it.
LIES: list[tuple[dict[str, Any], str]] = [
    ({"data": (1 << 70, False)}, "0x400000000000000000 is no address of an array: pass one on a card"),
    ({"data": (-1, False)}, "-0x1 is no address of an array"),
    ({"data": (0, False)}, "the array's memory is on no card: pass one on card 0, or a numpy array"),
    ({"data": ("x", False)}, "can't be read (TypeError(\"'str' object cannot be interpr"),
    ({"data": ...}, "an array of type CudaInterface can't be read (KeyError('data')): pass a plain array"),
    ({"shape": ...}, "can't be read (KeyError('shape'))"),
    ({"shape": (32.0, 40)}, "'float' object cannot be interpreted as an integer"),
    ({"shape": (-32, 40)}, "shape (-32, 40) has no samples"),
    ({"shape": (1 << 30, 1 << 30), "strides": None}, "is larger than the memory of any card"),
    ({"shape": (1 << 62, 40)}, "is larger than the memory of any card"),
    ({"strides": (40,)}, "the shape (32, 40) can't have the strides (40,)"),
    ({"typestr": "zzz"}, "data type 'zzz' not understood"),
    ({"version": ...}, "can't be read (KeyError('version'))"),
    ({"version": 99}, "its __cuda_array_interface__ has the version 99"),
    ({"stream": 3}, "names the stream 3, which is none: pass 1 for the default stream"),
    ({"stream": 1 << 70}, "names the stream 1180591620717411303424, which is none"),
    ({"stream": "x"}, "names the stream 'x', which is none"),
    ({"stream": True}, "names the stream True, which is none"),
]


def lying(lie: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda card: CudaInterface(card, SAMPLES, changes=lie)


REFUSED += [(lying(lie), words) for lie, words in LIES]


class Says:
    """Has the interface that it is given, and raises it if it is an error."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    @property
    def __cuda_array_interface__(self) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


REFUSED += [
    (lambda c: Says(None), "a picture is an array of luma samples, a tuple of such planes or a Picture, not"),
    (lambda c: Says(7), "an array of type Says can't be read (TypeError("),
    (lambda c: Says({}, LookupError()), "an array of type Says can't be read (LookupError): pass a"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_no_picture_gets_a_sentence(make: Callable[[Any], Any], words: str) -> None:
    card = emulated_card()
    wrong = make(card)
    told: list[int] = []
    with on_card(card, "psnr") as measurement:
        for copy in (True, False):
            with pytest.raises(InputError) as caught:
                measurement.add(wrong, wrong, copy=copy, freed=lambda: told.append(1))
            assert words in str(caught.value)
            del caught  # its traceback refers to everything
        assert (measurement.frames, len(told)) == (0, 2)
    if isinstance(wrong, Dlpack):
        assert wrong.deleted == wrong.exported


def test_versions_and_handles_that_are_known() -> None:
    cuda = FakeCuda()
    cuda.streams |= {handle: FakeStream(0) for handle in (2, 0x55AA_1234_5678)}
    card = emulated_card(cuda)
    with on_card(card, "psnr") as measurement:
        for version in (1, 2, 3):
            array = CudaInterface(card, SAMPLES, version=version)
            measurement.add(array, array)
        for stream in (None, 1, 2, 0x55AA_1234_5678):
            array = CudaInterface(card, SAMPLES, stream=stream)
            measurement.add(array, array)
        shape = tuple(map(np.int64, (32, 40)))
        unpadded = CudaInterface(card, SAMPLES, changes={"shape": shape, "strides": None})
        measurement.add(unpadded, unpadded)
        measurement.flush()
        assert measurement.frames == 8


class HostCapsule(Dlpack):
    """Says that it is on a card, and gives an array in the machine's memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def test_a_capsule_that_is_no_such_array() -> None:
    card = emulated_card()
    with on_card(card, "psnr") as measurement:
        liar = HostCapsule(card, SAMPLES, device=(1, 0))
        with pytest.raises(InputError, match=r"can't be read \(it says device 2, and its capsule 1\): pass"):
            measurement.add(liar, liar)
        assert liar.deleted == liar.exported == 1


def test_memory_of_another_card_and_of_none(cuda: FakeCuda, tmp_path: Path) -> None:
    cuda.cards = 2
    card = fake_card(cuda, tmp_path)
    elsewhere = fake_card(cuda, tmp_path, 1)
    at_home = CudaInterface(card, SAMPLES, changes={"data": (SAMPLES.ctypes.data, False)})
    with on_card(card, "psnr") as measurement:
        with pytest.raises(InputError, match="lies on card 1, and the measurement is on card 0"):
            measurement.add(CudaInterface(elsewhere, SAMPLES), SAMPLES)
        with pytest.raises(InputError, match="memory is on no card: pass one on card 0, or a numpy array"):
            measurement.add(at_home, SAMPLES)


def test_a_measurement_without_a_card_refuses_arrays_on_one() -> None:
    card = emulated_card()
    for export in EXPORTS:
        array = export(card, SAMPLES)
        with Measurement(1, backend="cpu") as measurement:
            measurement.add_feature("psnr")
            with pytest.raises(InputError) as caught:
                measurement.add(array, array)  # type: ignore[arg-type]
        assert str(caught.value) == (
            "the array lies on a card, and this measurement computes on the CPU: pass array.cpu().numpy() or "
            "cupy.asnumpy(array), or make the measurement with backend='cuda'"
        )
