"""Bytes at known places: whole, by several threads at once, and closed only when nobody reads."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acuity.errors import InputError
from acuity.video.source import open_source
from video_clips import piped

DATA = bytes(range(256)) * 8


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bytes"
    path.write_bytes(DATA)
    return path


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2200), st.integers(0, 300)), max_size=12), st.integers(1, 50))
def test_bytes_of_any_place(file: Path, places: list[tuple[int, int]], most: int) -> None:
    real = os.preadv

    def few(fd: int, views: Sequence[memoryview], position: int) -> int:
        return real(fd, [views[0][:most]], position)  # as a signal or a network may cut it

    with open_source(file) as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "preadv", few)
        assert source.concurrent
        for position, count in places:
            room = bytearray(count)
            done = source.read_at(position, memoryview(room))
            assert bytes(room[:done]) == DATA[position : position + count]
            assert done == max(0, min(count, len(DATA) - position))
        assert source.read(5) == DATA[:5]  # where it was


def test_the_last_to_read_closes_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Semaphore(0), threading.Event()
    real = os.preadv
    used: list[int] = []

    def slowly(fd: int, views: Sequence[memoryview], position: int) -> int:
        used.append(fd)
        inside.release()
        assert go_on.wait(30)
        return real(fd, views, position)

    monkeypatch.setattr(os, "preadv", slowly)
    source = open_source(file)
    found: list[bytes] = []

    def read(position: int) -> None:
        room = bytearray(100)
        source.read_at(position, memoryview(room))
        found.append(bytes(room))

    threads = [threading.Thread(target=read, args=(position,)) for position in (0, 100)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert inside.acquire(timeout=30)
    source.close()  # does not wait for them
    with pytest.raises(InputError, match="was closed"):
        source.read_at(0, memoryview(bytearray(1)))
    os.fstat(used[0])
    go_on.set()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([DATA[:100], DATA[100:200]])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(used[0])
    source.close()


def test_an_error_of_the_disk_has_a_sentence(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    with open_source(file) as source, pytest.raises(InputError, match=r"cannot read .*Input/output error"):
        source.read_at(0, memoryview(bytearray(1)))


def test_a_pipe_has_no_places(tmp_path: Path) -> None:
    with piped(tmp_path, b"") as pipe, open_source(pipe) as source:
        assert not source.concurrent
        with pytest.raises(InputError, match="is a pipe"):
            source.read_at(0, memoryview(bytearray(1)))
