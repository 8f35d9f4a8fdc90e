"""What systemd is told: over a real socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from longwire.server.main import ServiceManager
from transport_bench import SECONDS


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(SECONDS)
        yield listener


def told(systemd: socket.socket) -> list[str]:
    return systemd.recv(4096).decode().splitlines()


def test_its_variables_are_for_no_worker(systemd: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "PATH": "/"}
    assert ServiceManager(environ)
    assert environ == {"PATH": "/"}


def test_what_it_is_told(systemd: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.getsockname()})
    assert manager
    manager.ready("serving\nhttp://x")
    assert told(systemd) == ["READY=1", "STATUS=serving http://x"]
    manager.stopping()
    assert told(systemd)[0] == "STOPPING=1"


def test_a_name_without_a_file() -> None:
    name = f"acuity-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).ready("x")
        listener.settimeout(SECONDS)
        assert told(listener)[0] == "READY=1"


async def test_signs_of_life(systemd: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "7"}
    with ServiceManager(environ, pid=7).watched():
        for _ in range(3):
            assert await anyio.to_thread.run_sync(told, systemd) == ["WATCHDOG=1"]
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(1)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "1000"},
        {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "junk"},
        {"NOTIFY_SOCKET": "relative", "WATCHDOG_USEC": "1000"},
        {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ],
)
async def test_without_one_nothing_happens(environ: dict[str, str]) -> None:
    manager = ServiceManager(environ)
    with manager.watched():
        manager.ready("x")
        manager.stopping()
