"""A server program that is killed and started again on the same port and file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = [sys.executable, str(Path(__file__).with_name("restart_server.py"))]
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Restarts:
    """One process after the other. The next one is loaded before it is needed."""

    def __init__(self, store: str) -> None:
        self.store = store
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self._running: subprocess.Popen[str] | None = None
        self._next = self._load()
        self._is_loaded = False

    def prepare(self) -> None:
        """Wait until the next process can take over in a moment: clients give up after a second or two."""
        if not self._is_loaded:
            assert self._next.stdout is not None
            assert self._next.stdout.readline() == "loaded\n"
            self._is_loaded = True

    def start(self) -> str:
        """Have the next process serve; returns its URL."""
        self.prepare()
        process = self._next
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        self._running, self._next, self._is_loaded = process, self._load(), False
        url = process.stdout.readline().strip()
        assert url, "the server did not start"
        return url

    def kill(self) -> None:
        """SIGKILL: the process can't do anything about it."""
        assert self._running is not None
        self._running.kill()
        self._running.wait()

    def stop(self) -> None:
        """SIGTERM: the process ends in order."""
        assert self._running is not None
        self._running.terminate()
        self._running.wait(30)

    def restart(self) -> str:
        """Kill the process and start another."""
        self.prepare()
        self.kill()
        return self.start()

    def end(self) -> None:
        for process in filter(None, (self._running, self._next)):
            process.kill()
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()

    def _load(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_PROGRAM, str(self.port), self.store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_ENVIRONMENT,
        )


@contextmanager
def restarts(folder: Path) -> Iterator[Restarts]:
    server = Restarts(f"sqlite:{folder / 'sessions.sqlite'}")
    try:
        yield server
    finally:
        server.end()
