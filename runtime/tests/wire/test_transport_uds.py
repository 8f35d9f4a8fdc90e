"""The Unix socket: its file, its neighbours, and clients that die."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from longwire.endpoints import Uds
from longwire.errors import SettingsError
from longwire.settings import Settings
from longwire.wire.listeners import LONGEST_PATH, listening
from transport_bench import serving


def test_the_file_is_its_owners_alone_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    bind = socket.socket.bind

    class Watched(socket.socket):
        def bind(self, address: object) -> None:
            bind(self, address)
            modes.append(stat.S_IMODE(os.stat(str(address)).st_mode))

    monkeypatch.setattr(socket, "socket", Watched)
    before = os.umask(0)
    try:
        with listening(tmp_path / "s"):
            modes.append(stat.S_IMODE(os.stat(tmp_path / "s").st_mode))
        assert modes == [0o700, 0o700]
        assert os.umask(0) == 0
    finally:
        os.umask(before)


async def test_a_second_server_on_the_same_path_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async with serving(Uds(tmp_path / "s")) as server, server.client("legacy") as client:
        with (
            pytest.raises(SettingsError, match=r"/s' is in use by another server: "),
            listening(tmp_path / "s"),
        ):
            pass
        assert (await client.call_tool("echo")).is_error is False
        async with server.client("2026-07-28") as another:
            assert (await another.call_tool("echo")).is_error is False


def test_servers_that_start_at_once_leave_one_winner(tmp_path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "s"))
    dead.close()
    barrier, over = threading.Barrier(8), threading.Event()
    settled = threading.Semaphore(0)

    def start() -> bool:
        barrier.wait()
        try:
            with listening(tmp_path / "s"):
                settled.release()
                return over.wait(30)
        except SettingsError:
            settled.release()
            return False

    with ThreadPoolExecutor(8) as threads:
        won = [threads.submit(start) for _ in range(8)]
        for _ in won:
            assert settled.acquire(timeout=30)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "s"))
        over.set()
    assert [found.result() for found in won].count(True) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_another_servers_by_now_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening(path):
        path.unlink()
        other = socket.socket(socket.AF_UNIX)
        other.bind(str(path))
    assert path.exists()
    other.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 200, rf"bytes, {LONGEST_PATH} are the most: shorten it"),
        ("nowhere/s", r"nowhere' can't be used: No such file or directory"),
        ("plain/s", r"plain' can't be used: Not a directory"),
        ("plain", r"plain' exists and is no socket: choose another path"),
    ],
)
def test_paths_that_cannot_be(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "plain").write_text("precious")
    with pytest.raises(SettingsError, match=reason), listening(tmp_path / name):
        pass
    assert (tmp_path / "plain").read_text() == "precious"


def test_a_folder_that_another_process_keeps_locked(tmp_path: Path) -> None:
    holder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        sentence = rf"keeps the socket's folder '{tmp_path}' locked: end it, or name a folder of your own"
        with pytest.raises(SettingsError, match=sentence), listening(tmp_path / "s"):
            pass
        assert list(tmp_path.iterdir()) == []
    finally:
        os.close(holder)
    with listening(tmp_path / "s"):
        pass


def test_the_longest_path_works(tmp_path: Path) -> None:
    path = tmp_path / ("s" * (LONGEST_PATH - len(str(tmp_path)) - 1))
    with listening(path):
        assert len(os.fsencode(path)) == LONGEST_PATH


async def test_a_client_that_dies_harms_nobody(tmp_path: Path) -> None:
    async with serving(Uds(tmp_path / "s")) as server, server.client("legacy") as client:
        for body in (b"", b"{"):
            with socket.socket(socket.AF_UNIX) as dead:
                dead.connect(server.where)
                dead.sendall(body)
            assert (await client.call_tool("echo")).is_error is False


async def test_clients_beyond_the_limit_are_turned_away_with_a_sentence(tmp_path: Path) -> None:
    settings = Settings(connections=1, grace=0.2)
    async with serving(Uds(tmp_path / "s"), settings=settings) as server, server.client("legacy") as client:
        async with await anyio.connect_unix(server.where) as late:
            text = await late.receive()
            assert "too many clients are connected" in json.loads(text)["error"]["message"]
            with pytest.raises(anyio.EndOfStream):
                await late.receive()
        assert (await client.call_tool("echo")).is_error is False
