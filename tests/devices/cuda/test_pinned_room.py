"""Page-locked memory that was allocated before it is asked for."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from acuity.devices.cuda.hardware import cupy_card
from acuity.devices.cuda.hardware.pinned_room import PinnedRoom
from fake_cuda import FakeCuda, fake_card

PAGE = 4096


def test_parts_are_given_out_and_taken_back() -> None:
    room = PinnedRoom()
    assert room.take(1) is None
    room.add(10 * PAGE, 4 * PAGE)
    assert [room.take(size) for size in (1, PAGE + 1, 2 * PAGE)] == [10 * PAGE, 11 * PAGE, None]
    assert room.take(PAGE) == 13 * PAGE
    assert room.take(1) is None
    room.give_back(11 * PAGE, PAGE + 1)
    assert [room.take(size) for size in (1, 2 * PAGE, 2 * PAGE)] == [None, 11 * PAGE, None]
    room.clear()
    assert room.take(1) is None


def test_a_card_takes_from_there_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, room = FakeCuda(), PinnedRoom()
    card = fake_card(cuda, tmp_path)
    monkeypatch.setattr(cupy_card, "ROOM", room)
    memory = np.zeros(4 * PAGE, np.uint8)
    room.add(memory.ctypes.data, 2 * PAGE)
    before = len(cuda.locked)
    first = card.pinned(PAGE)
    first[:] = 7
    assert (memory[:PAGE] == 7).all()
    assert not memory[PAGE:].any()
    large = card.pinned(2 * PAGE)  # for which there is no room
    assert len(cuda.locked) == before + 1
    part = first[10:20]
    del first
    gc.collect()
    second = card.pinned(PAGE)  # the first is still in use
    assert second.ctypes.data == memory.ctypes.data + PAGE
    del part, large
    gc.collect()
    assert card.pinned(100).ctypes.data == memory.ctypes.data
    assert len(cuda.locked) == before
    cuda.context = 0
