"""Clients that know nothing but lines of JSON, and processes with a server inside."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from acuity import EmbeddedConfig, EmbeddedServer
from acuity.measure import Measurement
from acuity.measure.feed import feed
from bridge_room import measuring
from moving_pictures import pair
from prepared_programs import Program
from tool_results import wire_sentence

PATIENCE = 30.0  # seconds; reached only where something is broken
TESTS = Path(__file__).resolve().parents[2]

# A process with a server, which says when that is ready.
HOST = """
import sys
from acuity import EmbeddedServer, Measurement
from acuity.measure.feed import feed
from itertools import count
from moving_pictures import pair
measurement = Measurement(threads=1)
measurement.add_feature("motion")
server = EmbeddedServer(measurement)
server.start_uds(sys.argv[1])
print("ready", flush=True)
"""


class LineClient:
    """One client at a pair of descriptors, or at a socket."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._buffer = b""
        self._numbers = itertools.count(1)

    def send(self, method: str, **params: Any) -> int:
        number = next(self._numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        os.write(self._write, json.dumps(message).encode() + b"\n")
        return number

    def notify(self, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        os.write(self._write, json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "no answer"
            data = os.read(self._read, 65536)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.send(method, **params)
        message = self.receive()
        assert message["id"] == number
        return message

    def call(self, tool: str, **arguments: Any) -> Any:
        """A tool's document."""
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]["structuredContent"]

    def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence that a tool fails with."""
        return wire_sentence(self.ask("tools/call", name=tool, arguments=arguments)["result"])


@contextmanager
def connected(path: Path) -> Iterator[LineClient]:
    """A client at a Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE)
        client.connect(str(path))
        yield LineClient(client.fileno(), client.fileno())


@contextmanager
def hosted(
    folder: Path, *models: str, config: EmbeddedConfig | None = None, **options: Any
) -> Iterator[tuple[Measurement, EmbeddedServer]]:
    """A measurement, and a server beside it at the socket 's' of a folder."""
    with measuring(models) as measurement, EmbeddedServer(measurement, config, **options) as server:
        server.start_uds(folder / "s")
        yield measurement, server


@contextmanager
def feeding(measurement: Measurement) -> Iterator[Callable[[], None]]:
    """Frames that are fed on another thread until they are to end; the measurement is flushed then."""
    over = threading.Event()

    def pairs() -> Any:
        for index in itertools.count():
            if over.is_set():
                return
            yield pair(index % 20)

    thread = threading.Thread(target=feed, args=(measurement, pairs()))

    def end() -> None:
        over.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()

    thread.start()
    try:
        yield end
    finally:
        measurement.resume(everyone=True)
        end()


@contextmanager
def started(script: str, *arguments: str, by: Callable[..., Program] = Program) -> Iterator[Program]:
    """A Python process of its own, for as long as the block lasts and some time at most."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    process = by(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # so that children of its own can be ended with it
    )
    with ending_in_time(process, lambda: os.killpg(process.pid, signal.SIGKILL)):
        yield process


@contextmanager
def ending_in_time(
    process: Program | subprocess.Popen[str], kill: Callable[[], None], seconds: float = 2 * PATIENCE
) -> Iterator[None]:
    """Have a process killed with the block, or after some time at most."""
    late = threading.Timer(seconds, kill)
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        with suppress(ProcessLookupError):
            kill()
        process.communicate()


class Command:
    """A command with a client at its descriptors 3 and 4."""

    def __init__(self, process: Program, read: int, write: int) -> None:
        self.process = process
        self.client = LineClient(read, write)
        self._ours = [read, write]

    def answered(self, seconds: float) -> bool:
        """Whether an answer comes within this time."""
        return bool(select.select(self._ours[:1], [], [], seconds)[0])

    def close(self) -> None:
        while self._ours:
            os.close(self._ours.pop())


@contextmanager
def commanded(module: str, *arguments: str) -> Iterator[Command]:
    """A command of this module, for as long as the block lasts and some time at most."""
    theirs_in, write = os.pipe()
    read, theirs_out = os.pipe()
    process = Program(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        descriptors=(theirs_in, theirs_out),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(theirs_in)
    os.close(theirs_out)
    command = Command(process, read, write)
    with closing(command), ending_in_time(process, process.kill):
        yield command


@contextmanager
def host_at(path: Path, rest: str) -> Iterator[Program]:
    """A process whose server listens there, and which goes on with the rest of its script."""
    with started(HOST + rest, str(path)) as host:
        assert host.stdout.readline() == "ready\n", host.communicate()
        yield host


def start(server: EmbeddedServer, transport: str, folder: Path) -> Any:
    """Start it in one of the ways."""
    if transport == "uds":
        return server.start_uds(folder / "s")
    if transport == "stdio":
        read, write = os.pipe()
        try:
            return server.start_stdio(read, write)
        finally:
            os.close(read)
            os.close(write)
    return {"sse": server.start_sse, "http": server.start_http}[transport]()


def descriptors() -> list[str]:
    """What this process has open, by what it leads to."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue  # the listing's own
    return sorted(found)
