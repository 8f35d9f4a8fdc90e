"""A server as a process: where it listens, what it logs, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
from mcp import Client

from longwire.endpoints import Open
from prepared_programs import Program
from transport_bench import transport_to

SECONDS = 60.0
LONGWIRE = [sys.executable, "-m", "longwire", "serve"]


class ServedProgram:
    """A running server: where it listens, and the processes that belong to it."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], by: Callable[..., Program] = Program
    ) -> None:
        self.lines: list[dict[str, Any]] = []
        self._heard = threading.Condition()
        self.process = by(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._heard:
                try:
                    self.lines.append(json.loads(line))
                except json.JSONDecodeError:  # a sentence about why it does not start
                    self.lines.append({"event": "text", "message": line})
                self._heard.notify_all()
        with self._heard:
            self.lines.append({"event": "ended"})
            self._heard.notify_all()

    def line(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first line of the log that does, once it is there."""
        with self._heard:
            found = self._heard.wait_for(
                lambda: next((line for line in self.lines if matches(line)), None), SECONDS
            )
        assert found is not None, self.lines
        return found

    def where(self, transport: str) -> Open:
        line = self.line(lambda line: line.get("transport") == transport)
        return Open(transport, line["address"], lambda: None)

    def client(self, transport: str, era: str) -> Client:
        return Client(transport_to(self.where(transport)), mode=era)

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


_Server = TypeVar("_Server", bound=ServedProgram)


@contextmanager
def left_clean(server: _Server) -> Iterator[_Server]:
    """End the server behind the block, and see that it leaves nothing behind."""
    try:
        yield server
    finally:
        workers = server.workers() if server.process.poll() is None else []
        if server.process.poll() is None:
            server.terminate()
        _, left = psutil.wait_procs(workers, SECONDS)
        assert not left
        assert server.process.stdout is not None
        assert server.process.stdout.read() == ""  # it belongs to the protocol


def environment(folder: Path) -> dict[str, str]:
    """The variables of a server that keeps what outlives it in this folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LONGWIRE")}
    path = os.pathsep.join(filter(None, sys.path))
    return {**inherited, "PYTHONPATH": path, "LONGWIRE_DATA": str(folder / "data")}


@contextmanager
def longwire_server(folder: Path, *arguments: str) -> Iterator[ServedProgram]:
    """`longwire serve` with these arguments."""
    with left_clean(ServedProgram([*LONGWIRE, *arguments], environment(folder))) as server:
        yield server
