"""Arrays on the card, by DLPack and by `__cuda_array_interface__`, have the digits of numpy's on the CPU."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.hardware.card import Card
from acuity.errors import BackendError, CardLost, CardMemoryError
from array_bench import EXPORTS, Export, columns, counted, on_card, on_cpu, planes_of
from emulated_card import needs_compiler
from exporters import CudaInterface, Dlpack, OnCard
from fake_cuda import FakeCuda, emulated_card
from twin_bench import random_frames

pytestmark = needs_compiler


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize(("depth", "layout", "size"), [(8, "420", (49, 35)), (10, "444", (40, 33))])
def test_arrays_on_the_card_have_the_digits_of_the_cpu(
    export: Export, copy: bool, depth: int, layout: str, size: tuple[int, int]
) -> None:
    card, frames = emulated_card(), random_frames(5, *size, depth, layout=layout)
    features = "motion=motion_five_frame_window=true", "psnr", "adm", "float_moment"
    pitch, offset = (128, 2) if depth == 10 else (61, 3)
    with on_card(card, *features) as measurement:
        for frame in frames:
            ref = planes_of(export, card, frame.ref, pitch=pitch, offset=offset)
            dis = planes_of(export, card, frame.dis)
            given = None if depth == 8 else depth
            assert measurement.add(ref, dis, bitdepth=given, copy=copy) == frame.index
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, *features))
        assert measurement.computed_by["float_moment"] == "cpu"


def test_luma_alone_and_one_picture_in_the_machines_memory() -> None:
    card, frames = emulated_card(), random_frames(5, 40, 32, 8)
    with on_card(card, "psnr", "motion") as measurement:
        for frame in frames:
            measurement.add(frame.ref.luma, Dlpack(card, frame.dis.luma))
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, "psnr", "motion"))


def test_nothing_is_uploaded_or_copied_that_lies_on_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    card, frames = emulated_card(), random_frames(70, 32, 48, 8)
    uploaded = counted(monkeypatch, "upload", lambda address, pitch, rows: rows.shape[0])
    copied = counted(monkeypatch, "copy", lambda address, pitch, plane: plane.shape[0])
    arrays = [(Dlpack(card, frame.ref.luma), Dlpack(card, frame.dis.luma)) for frame in frames]
    for copy in (False, True):
        uploaded.clear()
        copied.clear()
        with on_card(card, "motion=motion_five_frame_window=true") as measurement:
            for ref, dis in arrays:
                measurement.add(ref, dis, copy=copy)
            measurement.flush()
        assert uploaded.count(48) == 0
        assert copied.count(48) == (140 if copy else 0)


def test_what_the_cpu_computes_is_downloaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    card, frames = emulated_card(), random_frames(6, 40, 36, 8, layout="420")
    downloads = counted(monkeypatch, "download", lambda into, *_: into.shape[0] if into.ndim == 2 else 0)
    features = "float_moment", "float_psnr", "float_motion", "psnr"
    with on_card(card, *features) as measurement:
        for frame in frames:
            measurement.add(*(planes_of(Dlpack, card, p) for p in (frame.ref, frame.dis)))  # type: ignore[arg-type]
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, *features))
    assert downloads.count(36) == 12


@pytest.mark.parametrize("pairs", [4, 9])
def test_a_few_arrays_are_enough_for_any_number_of_frames(pairs: int) -> None:
    card, frames = emulated_card(), random_frames(60, 32, 24, 8)
    free: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(pairs):
        free.put([CudaInterface(card, np.zeros((24, 32), np.uint8)) for _ in "rd"])
    features = "motion=motion_five_frame_window=true", "float_moment"
    with on_card(card, *features) as measurement:
        for frame in frames:
            ref, dis = pair = free.get(timeout=30)
            ref.fill(frame.ref.luma)
            dis.fill(frame.dis.luma)
            measurement.add(ref, dis, copy=False, freed=partial(free.put, pair))
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, *features))
    assert free.qsize() == pairs


def test_arrays_stay_lent_while_the_card_may_read_them(
    cuda: FakeCuda, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that can't be started as a whole may have begun to read its pictures."""
    launched = cuda.launchKernel
    told: list[int] = []

    def launch(*given: Any) -> None:
        launched(*given)
        cuda.failures["memcpy2DAsync"] = cuda.failures["launchKernel"] = 1

    def freed() -> None:
        told.append(sum(len(stream.queue) - stream.done for stream in cuda.streams.values()))

    monkeypatch.setattr(cuda, "launchKernel", launch)
    arrays = [CudaInterface(card, np.zeros((24, 32), np.uint8)) for _ in "rd"]
    with on_card(card, "motion", "psnr") as measurement:
        measurement.add(*arrays, copy=False, freed=freed)  # type: ignore[misc]
        with pytest.raises(BackendError, match="can't be used"):
            measurement.flush()
    assert told == [0]


@pytest.mark.parametrize("copy", [True, False])
def test_a_card_that_is_lost_frees_everything_once(cuda: FakeCuda, card: Card, copy: bool) -> None:
    told: Counter[int] = Counter()
    arrays = [CudaInterface(card, np.zeros((24, 32), np.uint8)) for _ in "rd"]
    with on_card(card, "motion", "psnr") as measurement:
        for index in range(3):
            measurement.add(*arrays, copy=copy, freed=partial(told.update, [index]))  # type: ignore[misc]
        cuda.lost = 700
        with pytest.raises(CardLost):
            measurement.add(*arrays, copy=copy, freed=partial(told.update, [3]))  # type: ignore[misc]
        assert told[3] == 1
        with suppress(CardLost):  # unless all frames were finished before
            measurement.flush()
    assert told == Counter(range(4))


def test_a_card_without_room_for_copies(cuda: FakeCuda, card: Card) -> None:
    told: list[int] = []
    arrays = [CudaInterface(card, np.zeros((24, 32), np.uint8)) for _ in "rd"]
    with on_card(card, "psnr") as measurement:
        cuda.memory = cuda.in_use() + 1000
        with pytest.raises(CardMemoryError, match=r"memory free, and .* more are needed"):
            measurement.add(*arrays, freed=lambda: told.append(1))  # type: ignore[misc]
    assert told == [1]


# ---- order on the card: a machine that is made up, where work in streams is done late ----


def written_later(cuda: FakeCuda, stream: int, array: OnCard, samples: Any) -> None:
    cuda.streams[stream].queue.append(lambda: array.fill(samples))


def finish(cuda: FakeCuda, stream: int) -> None:
    cuda.streams[stream].run(len(cuda.streams[stream].queue))


@pytest.mark.parametrize("stream", [1, 0x5000_0000])
@pytest.mark.parametrize("early", [False, True])
def test_copies_come_after_what_was_written_and_before_what_is_written_next(
    cuda: FakeCuda, card: Card, stream: int, early: bool
) -> None:
    cuda.streams[stream] = type(cuda.streams[1])(0)
    frames = random_frames(5, 32, 24, 8)
    ref, dis = (CudaInterface(card, np.zeros((24, 32), np.uint8), stream=stream, pitch=48) for _ in "rd")
    with on_card(card, "motion", "psnr") as measurement:
        for frame in frames:
            written_later(cuda, stream, ref, frame.ref.luma)
            written_later(cuda, stream, dis, frame.dis.luma)
            measurement.add(ref, dis)
            written_later(cuda, stream, ref, np.full((24, 32), 99, np.uint8))
            if early:
                finish(cuda, stream)  # the program's own work may be done long before ours, or as late
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, "motion", "psnr"))


def waits_for(cuda: FakeCuda, theirs: int) -> Callable[[int], None]:
    """What a library does when it exports an array: the reader's stream waits for its own."""

    def order(stream: int) -> None:
        event = cuda.eventCreateWithFlags(3)
        cuda.eventRecord(event, theirs)
        cuda.streamWaitEvent(stream, event)

    return order


@pytest.mark.parametrize("copy", [True, False])
def test_dlpack_lets_our_stream_wait(cuda: FakeCuda, card: Card, copy: bool) -> None:
    theirs = card.stream()
    frames = random_frames(5, 32, 24, 8)
    told: list[int] = []
    held: list[Dlpack] = []
    with on_card(card, "motion", "psnr") as measurement:
        for frame in frames:
            pair = [
                Dlpack(card, np.zeros((24, 32), np.uint8), order=waits_for(cuda, theirs.handle)) for _ in "rd"
            ]
            for array, picture in zip(pair, (frame.ref, frame.dis), strict=True):
                written_later(cuda, theirs.handle, array, picture.luma)
            measurement.add(*pair, copy=copy, freed=lambda: told.append(1))  # type: ignore[misc]
            if copy:  # nobody knows the stream, so add() has waited
                finish(cuda, theirs.handle)
                for array in pair:
                    array.fill(np.full((24, 32), 99, np.uint8))
            held += pair
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, "motion", "psnr"))
        assert len(told) == 5
    del measurement
    assert [(array.exported, array.deleted) for array in held] == [(1, 1)] * 10


def test_a_library_whose_stream_is_known_is_not_waited_for(
    cuda: FakeCuda, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch says in which stream a program works: what it writes next waits for the copy."""

    class Now:
        cuda_stream = 0  # PyTorch's name of the default stream

    class Streams:
        @staticmethod
        def current_stream(number: int) -> Now:
            assert number == 0
            return Now()

    class Torch:
        cuda = Streams

    class OfTorch(Dlpack):
        __module__ = "torch"

        @property
        def __cuda_array_interface__(self) -> Any:
            raise AssertionError("it says less")

    monkeypatch.setitem(__import__("sys").modules, "torch", Torch)
    frames = random_frames(4, 32, 24, 8)
    ref, dis = (OfTorch(card, np.zeros((24, 32), np.uint8), order=waits_for(cuda, 1)) for _ in "rd")
    with on_card(card, "motion", "psnr") as measurement:
        for frame in frames:
            written_later(cuda, 1, ref, frame.ref.luma)
            written_later(cuda, 1, dis, frame.dis.luma)
            before = cuda.streams[1].done
            measurement.add(ref, dis)
            assert cuda.streams[1].done >= before
            written_later(cuda, 1, ref, np.full((24, 32), 99, np.uint8))
            finish(cuda, 1)
        measurement.flush()
        np.testing.assert_equal(columns(measurement), on_cpu(frames, "motion", "psnr"))
    del measurement
    assert (ref.exported, ref.deleted) == (4, 4)


def test_memory_of_copies_is_used_again(cuda: FakeCuda, card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = random_frames(3, 32, 24, 8)
    allocated: list[int] = []
    allocate = cuda.malloc
    monkeypatch.setattr(cuda, "malloc", lambda size: allocated.append(size) or allocate(size))
    with on_card(card, "psnr") as measurement:
        pair = [CudaInterface(card, picture.luma) for picture in (frames[0].ref, frames[0].dis)]
        for _ in range(100):
            measurement.add(*pair)  # type: ignore[arg-type]
            while measurement.snapshot().frames_done < measurement.frames - 1:
                pass
        measurement.flush()
    assert len(allocated) < 40
