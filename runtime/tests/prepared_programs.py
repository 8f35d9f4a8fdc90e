"""Python programs in processes of their own that start at once, because what they import is there already.

One process imports the server, the commands and the SDK, and forks itself for each program that a test asks
for: what follows is the program's own code from its first line on, with its own arguments, environment,
descriptors and process id. A start by the operating system takes two seconds, nearly all of them for imports.
Tests of what a start itself does use subprocess.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import itertools
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

# What most programs import; the tests of a product add their own.
PRELOADED = [
    "longwire.server.main",
    "mcp.client.sse",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "redis.asyncio",
    "uvloop",
]
_LONGEST = 1 << 20  # bytes of a request
_HIGHEST = 16  # more descriptors than a program is given
_READY = b"ready"


# ---- what tests use -----------------------------------------------------------------------------


class Program:
    """A running program, with the members of subprocess.Popen that tests use. It ends with this process."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: dict[str, str] | None = None,
        cwd: Path | str | None = None,
        stdin: int | IO[Any] | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        text: bool = False,
        start_new_session: bool = False,
        descriptors: Sequence[int] = (),
    ) -> None:
        """Start `sys.executable` with arguments: -m MODULE, -c CODE or a script, and what follows.

        `descriptors` are the program's from 3 on.
        """
        assert command[0] == sys.executable, command
        self.args = list(command)
        self.returncode: int | None = None
        self._written: dict[IO[Any] | None, Any] = {}
        self.stdin, self.stdout, self.stderr = None, None, None
        with contextlib.ExitStack() as theirs:
            given = []
            for number, (name, stream) in enumerate(
                (("stdin", stdin), ("stdout", stdout), ("stderr", stderr))
            ):
                if stream == subprocess.PIPE:
                    read, write = os.pipe()
                    mine, other, mode = (read, write, "r") if number else (write, read, "w")
                    theirs.callback(os.close, other)
                    setattr(self, name, os.fdopen(mine, mode if text else f"{mode}b"))
                elif stream == subprocess.DEVNULL:
                    theirs.callback(os.close, other := os.open(os.devnull, os.O_RDWR))
                elif stream == subprocess.STDOUT:
                    other = given[1]
                elif stream is None:
                    other = number
                else:
                    other = stream if isinstance(stream, int) else stream.fileno()
                given.append(other)
            request = {
                "arguments": list(command[1:]),
                "environment": dict(os.environ) if env is None else env,
                "folder": str(cwd or Path.cwd()),
                "session": start_new_session,
                "descriptors": [*range(3 + len(descriptors))],
            }
            self._told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._told.connect(address())
            socket.send_fds(self._told, [json.dumps(request).encode()], [*given, *descriptors])
        self.pid: int = json.loads(self._told.recv(_LONGEST))

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            told = select.poll()  # select.select() takes no descriptor above 1023
            told.register(self._told, select.POLLIN)
            if not told.poll(None if timeout is None else timeout * 1000):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = json.loads(self._told.recv(_LONGEST))
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Write a little, end its input, and give all that it writes until its end."""
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                if input:
                    self.stdin.write(input)
                self.stdin.close()

        def read(stream: IO[Any]) -> None:
            self._written[stream] = stream.read()

        streams = [stream for stream in (self.stdout, self.stderr) if stream and not stream.closed]
        readers = [threading.Thread(target=read, args=(stream,), daemon=True) for stream in streams]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        for stream in streams:
            stream.close()
        return self._written.get(self.stdout), self._written.get(self.stderr)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in filter(None, (self.stdout, self.stderr, self.stdin)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self.wait()


def starter() -> list[str]:
    """What stands for `sys.executable` in a command that others start: see prepared_command.py."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("prepared_command.py")), address()]


@functools.cache
def address() -> str:
    """The socket of the process that is forked, once that is ready."""
    process, path = prepare()
    assert process.stdout is not None
    assert process.stdout.readline().strip() == _READY
    return path


@functools.cache
def prepare() -> tuple[subprocess.Popen[bytes], str]:
    """Start the process that is forked, and don't wait for it."""
    folder = tempfile.mkdtemp(prefix="prepared-")
    path = f"{folder}/socket"
    path_there = os.pathsep.join(filter(None, sys.path))
    # No threads of numpy's: only the one that forks is there afterwards.
    environment = {**os.environ, "PYTHONPATH": path_there, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, __file__, path, *PRELOADED],
        env=environment,
        stdin=subprocess.PIPE,  # whose end is this process's
        stdout=subprocess.PIPE,
    )

    def end() -> None:
        process.communicate()
        os.rmdir(folder)

    atexit.register(end)
    return process, path


# ---- the process that is forked -----------------------------------------------------------------


def _prepare(path: str, preloaded: Sequence[str]) -> Callable[[], None] | None:
    """Wait for requests until the tests end; what a forked process gets is its program."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(64)
    for name in preloaded:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    print(_READY.decode(), flush=True)
    running: dict[int, tuple[int, socket.socket]] = {}  # the process and who asked for it, by its descriptor
    with selectors.DefaultSelector() as waiting:
        waiting.register(0, selectors.EVENT_READ)
        waiting.register(listener, selectors.EVENT_READ)
        while True:
            found, _ = waiting.select()[0]  # one at a time: descriptors of ended programs are used again
            if found.fd == 0:
                os.unlink(path)
                return None
            if found.fileobj is listener:
                asking, _ = listener.accept()
                text, descriptors, *_ = socket.recv_fds(asking, _LONGEST, _HIGHEST)
                pid = os.fork()
                if pid == 0:
                    # Here and not when nothing refers to them, or they would close others of the program.
                    for mine in (waiting, listener, asking, *(who for _, who in running.values())):
                        mine.close()
                    return _become(json.loads(text), descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                running[process := os.pidfd_open(pid)] = pid, asking
                waiting.register(process, selectors.EVENT_READ)
                waiting.register(asking, selectors.EVENT_READ, process)
                with contextlib.suppress(OSError):  # who asked was killed
                    asking.send(json.dumps(pid).encode())
            elif found.data is None:
                pid, asking = running.pop(found.fd)
                waiting.unregister(found.fd)
                os.close(found.fd)
                with contextlib.suppress(KeyError):
                    waiting.unregister(asking)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(OSError):
                    asking.send(json.dumps(code).encode())
                asking.close()
            else:  # who asked has gone
                waiting.unregister(found.fileobj)
                pid = running[found.data][0]
                (os.killpg if os.getsid(pid) == pid else os.kill)(pid, signal.SIGKILL)


def _become(request: dict[str, Any], descriptors: Sequence[int]) -> Callable[[], None]:
    """Make a forked process what a started one would be."""
    numbers = request["descriptors"]
    highest = numbers[-1] + 1
    aside = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, highest) for descriptor in descriptors]
    for number in range(highest):
        if number in numbers:
            os.dup2(aside[numbers.index(number)], number)
        else:
            os.closerange(number, number + 1)
    os.closerange(highest, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["folder"])
    if request["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    searched = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [folder for folder in searched if folder not in sys.path]
    arguments = request["arguments"]
    flags = set(itertools.takewhile({"-u", "-P"}.__contains__, arguments))
    arguments = arguments[len(flags) :]
    if "-u" in flags or os.environ.get("PYTHONUNBUFFERED"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)
    kind = arguments[0]
    sys.argv = arguments[1:] if kind == "-m" else ["-c", *arguments[2:]] if kind == "-c" else arguments
    if "-P" not in flags:
        sys.path.insert(0, {"-m": request["folder"], "-c": ""}.get(kind, str(Path(kind).parent)))
    if kind == "-m":
        return lambda: _run_module(sys.argv[0])
    if kind == "-c":
        main = sys.modules["__main__"] = ModuleType("__main__")
        return lambda: exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
    return lambda: runpy.run_path(sys.argv[0], run_name="__main__")


def _run_module(name: str) -> None:
    if name in sys.modules and not hasattr(sys.modules[name], "__path__"):
        del sys.modules[name]  # it is run, not imported
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    forked = _prepare(sys.argv[1], sys.argv[2:])
    if forked is not None:
        forked()
