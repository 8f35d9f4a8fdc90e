"""Buffers: reused, never while a picture lives on them, and from memory that a device may provide."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.video.buffers import BufferPool, Bytes, FrameLayout
from acuity.video.picture import PixelFormat


def address(buffer: Bytes) -> int:
    return int(np.frombuffer(buffer, np.uint8).ctypes.data)


def test_too_little_memory_is_told_as_such() -> None:
    with pytest.raises(MemoryError):
        BufferPool(1 << 60).take()


def test_buffers_come_back_however_many_are_in_use() -> None:
    pool = BufferPool(1000)
    held = [pool.take() for _ in range(50)]
    first = {address(buffer) for buffer in held}
    assert len(first) == 50
    del held
    again = [pool.take() for _ in range(50)]
    assert {address(buffer) for buffer in again} == first


def test_a_view_of_a_plane_keeps_its_buffer() -> None:
    layout = FrameLayout.of(PixelFormat("420", 10), 16, 8)
    pool = BufferPool(layout.frame_bytes)
    row = np.asarray(layout.planes(pool.take())[2])[1:2]
    row[:] = 7
    others = [pool.take() for _ in range(4)]
    for buffer in others:
        np.frombuffer(buffer, np.uint8)[:] = 1
    assert (row == 7).all()


def test_buffers_that_are_not_needed_any_more_are_given_back() -> None:
    made: list[int] = []

    def counted(size: int) -> Bytes:
        made.append(size)
        return np.empty(size, np.uint8)

    pool = BufferPool(1000, counted)
    held = [pool.take() for _ in range(30)]
    del held
    kept = pool.take()
    for _ in range(1000):
        pool.take()
    assert len(made) == 30
    held = [pool.take() for _ in range(30)]
    assert len(made) > 50  # most of the first ones had gone
    del held, kept


def test_samples_are_aligned() -> None:
    for size in (1, 63, 64, 5000, 1 << 22):
        pool = BufferPool(size)
        held = [pool.take() for _ in range(3)]
        assert all(address(buffer) % 64 == 0 and len(buffer) == size for buffer in held)
