"""The card by way of CuPy's bindings, on a machine that is made up: copies, events, memory, failures."""

from __future__ import annotations

import gc
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.hardware.cards import Cards
from acuity.errors import BackendError, CardLost, CardMemoryError
from fake_cuda import FakeCuda, fake_card


def contents(card: Card, address: int, size: int) -> bytes:
    stream, into = card.stream(), card.pinned(size)
    stream.download(into, address)
    stream.mark().wait()
    return into.tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(("rows", "columns", "pitch"), [(5, 7, 256), (1, 9, 64), (4, 32, 64), (3, 1, 2)])
@pytest.mark.parametrize("wider", [0, 3])
def test_planes_are_uploaded_row_by_row(
    card: Card, dtype: Any, rows: int, columns: int, pitch: int, wider: int
) -> None:
    whole = np.arange(rows * (columns + wider), dtype=dtype).reshape(rows, -1)
    plane = whole[:, :columns]
    memory, stream = card.allocate(pitch * rows), card.stream()
    stream.clear(memory.address, pitch * rows)
    stream.upload(memory.address, pitch, plane)
    stream.mark().wait()
    found = np.frombuffer(contents(card, memory.address, pitch * rows), np.uint8).reshape(rows, pitch)
    width = columns * plane.itemsize
    assert found[:, :width].tobytes() == plane.tobytes()
    if wider == 0 and width != pitch:
        assert not found[:-1, width:].any()


def test_what_is_no_plane_is_refused(card: Card) -> None:
    memory, stream = card.allocate(4096), card.stream()
    plane = np.zeros((8, 16), np.uint8)
    for wrong, pitch in ((plane[:, ::2], 64), (plane[::-1], 64), (plane, 15)):
        with pytest.raises(ValueError, match="can't be uploaded"):
            stream.upload(memory.address, pitch, wrong)
    with pytest.raises(ValueError, match="in one piece"):
        stream.download(plane[:, :3], memory.address)
    stream.upload(memory.address, 64, plane[:0])
    stream.clear(memory.address, 0)


def test_work_is_done_later_and_events_say_when(card: Card) -> None:
    memory, stream = card.allocate(16), card.stream()
    host = card.pinned(16)
    host[:] = 1
    stream.upload(memory.address, 16, host.reshape(1, -1))
    into = card.pinned(16)
    into[:] = 9
    stream.download(into, memory.address)
    event = stream.mark()
    assert not event.reached()
    host[:] = 2  # too early: page-locked memory is read when the copy runs
    event.wait()
    assert event.reached()
    assert into.tolist() == [2] * 16


def test_a_stream_waits_for_another(card: Card) -> None:
    memory, first, second = card.allocate(4), card.stream(), card.stream()
    host = card.pinned(4)
    host[:] = 7
    first.upload(memory.address, 4, host.reshape(1, -1))
    second.after(first.mark())
    into = card.pinned(4)
    second.download(into, memory.address)
    second.mark().wait()
    assert into.tolist() == [7] * 4


def test_memory_is_given_back(cuda: FakeCuda, card: Card) -> None:
    free = card.free_memory()
    memory = card.allocate(1000)
    assert memory.address % 256 == 0
    assert (memory.size, card.free_memory()) == (1000, free - 1000)
    part = card.pinned(100)[10:20].reshape(2, 5)
    gc.collect()
    assert len(cuda.locked) == 1  # a view keeps all of it
    assert card.is_pinned(part)
    assert not card.is_pinned(np.zeros(5))
    assert not card.is_pinned(part[:0])
    stream = card.stream()
    del memory, part, stream
    gc.collect()
    assert (len(cuda.blocks), len(cuda.locked), list(cuda.streams)) == (0, 0, [1])  # the default stream


def test_memory_that_is_short(cuda: FakeCuda, card: Card) -> None:
    cuda.memory = 3 << 30
    with pytest.raises(CardMemoryError) as caught:
        card.allocate(5 << 30)
    assert str(caught.value) == (
        "card 0 (Fake 0) has 3.0 GiB of memory free, and 5.0 GiB more are needed: end what else uses it, "
        "choose another card, or pass backend='cpu'"
    )
    assert (caught.value.wanted, caught.value.free) == (5 << 30, 3 << 30)
    cuda.failures["hostAlloc"] = 2
    with pytest.raises(BackendError, match=r"0\.2 MiB of memory left that can be page-locked"):
        card.pinned(200_000)
    cuda.failures = {"malloc": 46}
    with pytest.raises(BackendError, match="another process has the card for itself"):
        card.allocate(1)


@pytest.mark.parametrize("status", [214, 700, 719])
def test_a_card_that_is_lost_midway(cuda: FakeCuda, tmp_path: Path, status: int) -> None:
    cards = Cards(cuda.bindings, lambda _, architecture: cuda.builder(str(tmp_path), architecture))
    card = cards.open(0)
    assert card is not None
    memory, stream = card.allocate(64), card.stream()
    event = stream.mark()
    cuda.lost = status
    said = rf"^card 0 \(Fake 0\) failed while it computed \(cudaError{status}"
    work = (lambda: stream.clear(memory.address, 4)), (lambda: card.allocate(1))
    for use in (event.wait, event.reached, stream.mark, *work):
        with pytest.raises(CardLost, match=said):
            use()
    with pytest.raises(CardLost, match="score again, or pass backend='cpu'"):
        cards.open(0)
    gc.collect()  # nothing is asked of it any more


def test_threads_of_others_keep_their_card(cuda: FakeCuda, tmp_path: Path) -> None:
    """A caller may use PyTorch on card 0 while a measurement runs on card 1."""
    cuda.cards = 2
    card = fake_card(cuda, tmp_path, 1)
    assert cuda.context == 0
    card.allocate(4)
    assert cuda.context == 0  # a thread that has none is one with card 0
    theirs = 0x7000
    cuda.context = theirs
    stream = card.stream()
    stream.mark().wait()
    cuda.failures["malloc"] = 1
    with pytest.raises(BackendError):
        card.allocate(4)
    assert cuda.context == theirs
    assert cuda.streams[stream.handle].card == 1


def test_launches_are_repeated_with_the_same_arguments(cuda: FakeCuda, card: Card) -> None:
    cuda.computes = False
    (kernel,) = card.kernels("probe", ["probe"])
    stream, memory = card.stream(), card.allocate(16)

    def launch(seed: int) -> None:
        kernel(stream, (seed, 1, 1), (32, 1, 1), np.uint32(seed), *[np.float32(seed)] * 3, memory.address)

    def work() -> None:
        for seed in (1, 2):
            launch(seed)
        stream.clear(memory.address, 16)

    repeat = stream.repeatable(work)
    first = list(cuda.launches)
    gc.collect()
    launch(3)  # with parameters of its own
    repeat()
    assert cuda.launches == [*first, cuda.launches[2], *first]
    assert [shape[0] for _, shape, _ in cuda.launches] == [1, 2, 3, 1, 2]
    into = card.pinned(16)
    into[:] = 1
    stream.download(into, memory.address)
    stream.mark().wait()
    assert not into.any()


def test_kernels_get_their_arguments(cuda: FakeCuda, card: Card) -> None:
    cuda.computes = False
    (kernel,) = card.kernels("probe", ["probe"])
    stream = card.stream()
    values = np.uint32(7), np.float32(1.5), np.float32(-2), np.float32(0.1), 1 << 47
    kernel(stream, (3, 2, 1), (32, 4, 1), *values)
    (name, shape, slots) = cuda.launches[-1]
    assert (name, shape) == ("probe", (3, 2, 1, 32, 4, 1))
    packed = [struct.pack("<I", 7), *(struct.pack("<f", v) for v in values[1:4]), struct.pack("<Q", 1 << 47)]
    assert [slot[: len(value)] for slot, value in zip(slots, packed, strict=True)] == packed
    for unknown in (np.uint8(1), 1.5, True, "1"):
        with pytest.raises(TypeError, match="no argument of the type"):
            kernel(stream, (1, 1, 1), (1, 1, 1), unknown)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 64 arguments"):
        kernel(stream, (1, 1, 1), (1, 1, 1), *[1] * 65)


def test_kernels_are_loaded_once_and_when_they_are_launched(cuda: FakeCuda, card: Card) -> None:
    cuda.computes = False
    card.builder.prefetch("motion", ["motion_16"])
    stream = card.stream()
    for _ in range(3):
        (kernel,) = card.kernels("motion", ["motion_8"])
        assert len(cuda.modules) <= 1
        for _ in range(2):
            kernel(stream, (1, 1, 1), (32, 1, 1), *[1] * 7)
    assert len(cuda.modules) == len(cuda.functions) == 1
    card.builder.code("motion", "motion_16")
    wanted = ["motion.motion_16.cu sm_90", "motion.motion_8.cu sm_90"]
    assert sorted(name for name in cuda.nvrtc.compiled if "probe" not in name) == wanted
    (unknown,) = card.kernels("motion", ["no_such_kernel"])
    with pytest.raises(BackendError, match=r"card 0 .* can't be used .*500"):
        unknown(stream, (1, 1, 1), (32, 1, 1))


def test_a_kernel_that_can_not_be_compiled_says_so_at_its_launch(cuda: FakeCuda, card: Card) -> None:
    card.builder.code("probe", "probe")
    cuda.nvrtc.error = "motion.motion_8.cu(7): error: no"
    (kernel,) = card.kernels("motion", ["motion_8"])
    with pytest.raises(BackendError, match=r"the kernel 'motion\.motion_8' can't be compiled for sm_90"):
        kernel(card.stream(), (1, 1, 1), (32, 1, 1))


def test_cached_code_that_the_driver_refuses_is_compiled_anew(cuda: FakeCuda, card: Card) -> None:
    cuda.refused.add(card.builder.code("motion", "motion_8"))
    (kernel,) = card.kernels("motion", ["motion_8"])
    with pytest.raises(BackendError, match="can't be used"):  # compiled anew, it is the same here
        kernel(card.stream(), (1, 1, 1), (32, 1, 1))
    assert cuda.nvrtc.compiled.count("motion.motion_8.cu sm_90") == 2
