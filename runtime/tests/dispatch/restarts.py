"""A server process that is killed, and others that follow it on the same port and file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prepared_programs import Program

_PROGRAM = [sys.executable, str(Path(__file__).with_name("restart_server.py"))]
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class Restarts:
    """One server process after the other."""

    def __init__(self, store: str, *node: str) -> None:
        """`node`: the label, the port for others and the secret of a node of a cluster, at that Redis."""
        self.port = port = free_port()
        self._program = Program(
            [*_PROGRAM, str(port), store, *node],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_ENVIRONMENT,
        )
        self.store = store
        self._pid = 0
        self.url = ""  # while a process serves

    def start(self) -> str:
        """Start a process; returns its URL."""
        assert self._program.stdin is not None
        self._program.stdin.write("\n")
        self._program.stdin.flush()
        found = self._line().split()
        assert len(found) == 2, "the server did not start"
        self._pid, self.url = int(found[0]), found[1]
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
        if self.url:
            self.kill()
        with self._program as program:
            program.kill()

    def _end(self, number: signal.Signals) -> None:
        self.url = ""
        os.kill(self._pid, number)
        assert self._line() == "ended\n"

    def _line(self) -> str:
        assert self._program.stdout is not None
        return self._program.stdout.readline()


@contextmanager
def restarts(folder: Path) -> Iterator[Restarts]:
    server = Restarts(f"sqlite:{folder / 'sessions.sqlite'}")
    try:
        yield server
    finally:
        server.close()
