"""Detects through the kernel whether a file was opened or a port was connected to."""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path
from types import TracebackType


class FileCanary:
    """Notes every opening of a file, or of any file right in a folder, by any process (Linux's inotify)."""

    READ, OPEN = 0x1, 0x20

    def __init__(self, *paths: Path, events: int = READ | OPEN) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._fd >= 0
        for path in paths:
            assert libc.inotify_add_watch(self._fd, os.fsencode(path), events) >= 0

    @property
    def touched(self) -> bool:
        """Whether it happened since the last question; every event has been queued when a call returns."""
        try:
            return bool(os.read(self._fd, 1 << 16))
        except BlockingIOError:
            return False

    def __enter__(self) -> FileCanary:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)


class PortCanary:
    """A TCP port that nobody should connect to. A connection is queued before connect() returns."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    @property
    def touched(self) -> bool:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True

    def close(self) -> None:
        self._socket.close()


def open_descriptors() -> set[str]:
    """The descriptors of this process, to see that none is left behind."""
    return set(os.listdir("/proc/self/fd"))
