"""Debian's redis-server (or Valkey's) for tests: on a Unix socket in a folder of its own."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from waiting import until_true

MISSING = "neither redis-server nor valkey-server is installed here"
PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
needs_redis = pytest.mark.redis

COMMAND_WAIT = 1.0  # seconds for a command: a busy machine stops Redis for longer than in earnest

_MEMORY = Path("/dev/shm")  # a busy disk may take a second to have written what Redis waits for


class RedisServer:
    """A Redis server that can be killed, started again and paused."""

    def __init__(self, folder: Path, *, append_only: bool = False, **options: str) -> None:
        self.folder = folder
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._append_only = append_only  # what was written is there again after a restart
        self._options = {name.replace("_", "-"): value for name, value in options.items()}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        if PROGRAM is None:
            pytest.skip(MISSING)
        self.socket.unlink(missing_ok=True)
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes" if self._append_only else "no",
            "appendfsync": "always",
            "daemonize": "no",
            "logfile": str(self.folder / "redis.log"),
            **self._options,
        }
        arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
        self._process = process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL)

        def is_there() -> bool:
            assert process.poll() is None, (self.folder / "redis.log").read_text()
            return self.answers()

        until_true(is_there)

    def answers(self) -> bool:
        """Whether it takes commands now."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(self.socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        return False

    def pause(self) -> None:
        """Have it answer nobody, with its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once. May be called again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Remove what it keeps on disk, while it doesn't run."""
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)


@contextmanager
def redis_server(*, append_only: bool = False, **options: str) -> Iterator[RedisServer]:
    """A server while the block lasts. The path of a Unix socket is short, so pytest's folders don't serve."""
    place = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="longwire-redis-", dir=place) as folder:
        server = RedisServer(Path(folder), append_only=append_only, **options)
        try:
            server.start()
            yield server
        finally:
            server.kill()
