"""Server processes that are killed or stopped, and others that follow them at the same port."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prepared_programs import Program

_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
_SOON = 30.0  # seconds


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class Restarts:
    """One server process after the other."""

    def __init__(self, script: Path, **asked: Any) -> None:
        """`asked` is what the script is told."""
        self.port = free_port()
        self._command = [sys.executable, str(script), json.dumps({"port": self.port, **asked})]
        self._program: Program | None = None  # that serves
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    @property
    def pid(self) -> int:
        assert self._program is not None
        return self._program.pid

    def start(self) -> str:
        """Start a process, unless one serves; returns its URL."""
        if self._program is None:
            self._program = Program(self._command, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT)
            assert self._program.stdout is not None
            assert self._program.stdout.readline().strip() == self.url, "the server did not start"
        return self.url

    def kill(self) -> None:
        """SIGKILL: the process can't do anything about it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM: the process ends in order."""
        self._end(signal.SIGTERM)

    def restart(self) -> str:
        """Kill the process and start another."""
        self.kill()
        return self.start()

    def close(self) -> None:
        if self._program is not None:
            self.kill()

    def _end(self, number: signal.Signals) -> None:
        assert self._program is not None
        program, self._program = self._program, None
        with program:
            program.send_signal(number)
            program.wait(_SOON)


@contextmanager
def restarts(folder: Path) -> Iterator[Restarts]:
    script = Path(__file__).with_name("restart_server.py")
    server = Restarts(script, store=f"sqlite:{folder / 'sessions.sqlite'}")
    try:
        yield server
    finally:
        server.close()
