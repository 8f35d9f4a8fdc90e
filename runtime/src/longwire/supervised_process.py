"""A worker process of any program: started, told to end, killed and reaped; its last output is kept.

Each process has a thread that starts it (so that a slow disk doesn't block the event loop), waits for it, and
reaps it. No code of ours runs between fork and exec: other libraries' threads and locks are broken there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

logger: Final = logging.getLogger(__name__)

_TAIL: Final = 16 << 10  # bytes kept of a worker's output
_FIRST_WAIT: Final = 0.01  # seconds between two attempts to connect, at first
_LONGEST_WAIT: Final = 0.1


async def waited(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event; False: it did not come in time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


class SupervisedProcess:
    """A worker process. Its methods are called on the event loop's thread."""

    def __init__(
        self,
        command: Sequence[str],
        on_exit: Callable[[], None],
        *,
        environment: Mapping[str, str] | None = None,
        inherited: Mapping[str, str] | None = None,
        killed_with_parent: bool = False,
        on_output: Callable[[bytes], None] | None = None,
    ) -> None:
        """`environment`: variables that it has besides `inherited`, which are all of this process if None.

        `killed_with_parent`: for programs that don't watch their parent themselves; a shell that waits for
        this process's end kills them and their children.
        `on_output` is given what it prints, as it comes.
        """
        self._command = tuple(command)
        self._environment = dict(environment or {})
        self._inherited = inherited
        self._killed_with_parent = killed_with_parent
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._on_exit = on_exit
        self._lock = threading.Lock()  # between kill and reap: the system may reuse a reaped process id
        self._child: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._reaped = False
        self._tail = bytearray()
        self._output = -1  # our end of its standard output and error
        self.code: int | None = None  # exit status, negative for signals; known once `gone` is set
        self.gone = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def tail(self) -> str:
        """The last output of the process."""
        return self._tail.decode("utf-8", "replace")

    def forget_tail(self) -> None:
        self._tail.clear()

    def start(self, channel: socket.socket | None = None) -> None:
        """Start the process in the background and give it this end of a socket pair."""
        self._output, theirs = os.pipe()
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._read_output)
        supervisor = threading.Thread(
            target=self._supervise, args=(channel, theirs), name="worker supervisor", daemon=True
        )
        supervisor.start()

    async def connected(
        self, make: Callable[[], asyncio.Protocol], path: str, seconds: float
    ) -> asyncio.BaseTransport | None:
        """A connection, as soon as the process listens there; None: it ended before, or its time was up."""
        wait, deadline = _FIRST_WAIT, self._loop.time() + seconds
        while self._loop.time() < deadline:
            with contextlib.suppress(OSError):
                return (await self._loop.create_unix_connection(make, path))[0]
            if await waited(self.gone, wait):
                break
            wait = min(wait * 2, _LONGEST_WAIT)
        return None

    def kill(self) -> None:
        """Kill the process and its children at once."""
        with self._lock:
            self._killed = True
            self._kill_group()

    def terminate(self) -> None:
        """Ask the process to end, with SIGTERM."""
        with self._lock:
            if self._child is not None and not self._reaped:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self._child.pid, signal.SIGTERM)
                return
            self._killed = True  # a process that has not begun yet is killed at once

    async def end(self, seconds: float) -> bool:
        """End the process and its children: with SIGTERM, after so many seconds (False) with SIGKILL."""
        try:
            self.terminate()
            in_time = await waited(self.gone, seconds)
        finally:
            self.kill()
        await self.gone.wait()
        return in_time

    def _kill_group(self) -> None:
        if self._child is not None and not self._reaped:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)

    def _supervise(self, channel: socket.socket | None, output: int) -> None:
        """Start, wait for and reap the process; runs on a thread of its own."""
        code: int | None = None
        try:
            child = self._spawn(channel, output)
        except OSError as error:
            logger.error("a worker process could not be started: %s", error)
            self._tail += f"{error}".encode()
        else:
            watch = _GroupWatch(child.pid) if self._killed_with_parent else None
            with contextlib.suppress(ChildProcessError):  # if this process ignores SIGCHLD
                os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            if watch is not None:
                watch.dismiss()  # before the group's id can be another's
            with self._lock:
                self._kill_group()  # its children; the process id is not reused before it is reaped
                code = child.wait()
                self._reaped = True
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            self._loop.call_soon_threadsafe(self._exited, code)

    def _spawn(self, channel: socket.socket | None, output: int) -> subprocess.Popen[bytes]:
        try:
            child = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[] if channel is None else [channel.fileno()],
                start_new_session=True,
                env={**(os.environ if self._inherited is None else self._inherited), **self._environment},
            )
        finally:
            if channel is not None:
                channel.close()
            os.close(output)
        with self._lock:
            self._child = child
            if self._killed:
                self._kill_group()
        return child

    def _exited(self, code: int | None) -> None:
        self._read_output()
        self._close_output()
        self.code = code
        self.gone.set()
        on_exit, self._on_exit = self._on_exit, lambda: None  # breaks the reference cycle with the owner
        self._on_output = None
        on_exit()

    def _read_output(self) -> None:
        if self._output < 0:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 64 << 10)
            if not data:
                self._close_output()
            self._tail += data
            del self._tail[:-_TAIL]
            if data and self._on_output is not None:
                self._on_output(data)

    def _close_output(self) -> None:
        if self._output >= 0:
            self._loop.remove_reader(self._output)
            os.close(self._output)
            self._output = -1


class _GroupWatch:
    """A shell that kills a process group when this process ends before it has dismissed the shell."""

    def __init__(self, group: int) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        try:
            self._shell = subprocess.Popen(
                ("/bin/sh", "-c", _WATCH, "longwire-watch", str(group)),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # no signal of a terminal ends it
                cwd="/",
                env={},
            )
        except OSError as error:
            logger.warning("worker process %d is not watched, and may outlive this one: %s", group, error)

    def dismiss(self) -> None:
        """End the shell, and let the group be."""
        if self._shell is not None:
            with contextlib.suppress(OSError):
                self._shell.communicate(b"\n")


_WATCH: Final = 'read _ || kill -9 "-$1"'  # a line dismisses it; without one, standard input has ended


_WATCH_SECONDS: Final = 0.5  # between two looks at whether the parent is there


def end_with(parent: int, first: Callable[[], object] = lambda: None, grace: float = 0.0) -> None:
    """End this process when that one is gone: call `first`, and `grace` seconds later end at once.

    It need not be the direct parent: there may be a shell between.
    """
    is_direct = os.getppid() == parent

    def is_there() -> bool:
        if is_direct:
            return os.getppid() == parent
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def watch() -> None:
        while is_there():
            time.sleep(_WATCH_SECONDS)
        with contextlib.suppress(RuntimeError):  # an event loop may have been closed
            first()
        time.sleep(grace)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
