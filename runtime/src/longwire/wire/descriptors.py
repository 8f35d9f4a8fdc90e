"""File descriptors that lead to a client: checked, copied or claimed, and made a transport of the event loop.

They may be shared with the process that handed them over, so their flags stay as they are: each is asked
whether it is ready, and never given more than it then surely takes. That is why asyncio's own pipes, which
make them non-blocking, are not used. Needs none of the protocol's libraries.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from longwire.errors import DescriptorError

FIRST: Final = 3  # those below are stdin, stdout and stderr
_CHUNK: Final = 65536  # bytes that are read at once
_HIGH: Final = 65536  # bytes waiting to be written above which the protocol has to pause
_LOW: Final = _HIGH // 4


def check_descriptor(
    descriptor: int, direction: Literal["in", "out"], remedy: str = "pass one that is open"
) -> None:
    """Refuse a descriptor that messages can't come in or go out by."""
    if not isinstance(descriptor, int) or isinstance(descriptor, bool) or descriptor < 0:
        raise DescriptorError(f"{descriptor!r} is no file descriptor: {remedy}")
    if descriptor < FIRST:
        raise DescriptorError(
            f"descriptor {descriptor} is the host's own: use others than stdin, stdout and stderr"
        )
    try:
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except (OSError, OverflowError):
        raise DescriptorError(f"descriptor {descriptor} is not open: {remedy}") from None
    if mode == (os.O_WRONLY if direction == "in" else os.O_RDONLY):
        verb = "read from" if direction == "in" else "written to"
        raise DescriptorError(f"descriptor {descriptor} can't be {verb}: use the other end of the pipe")


@contextmanager
def copied(fd_in: int, fd_out: int) -> Iterator[tuple[int, int]]:
    """Copies of descriptors, so that their owner may close them at any time."""
    read, write = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST) for descriptor in (fd_in, fd_out))
    owner = os.getpid()
    try:
        yield read, write
    finally:
        if os.getpid() == owner:  # a forked child has let go of them already
            os.close(read)
            os.close(write)


@contextmanager
def claimed_stdio() -> Iterator[tuple[int, int]]:
    """stdin and stdout under numbers of their own.

    Meanwhile 0 reads as empty and 1 leads to stderr, here and in child processes: a stray print or a
    library's banner would otherwise end up between the messages.
    """
    read, write = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST) for descriptor in (0, 1))
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        yield read, write
    finally:
        os.dup2(read, 0)
        os.dup2(write, 1)
        os.close(read)
        os.close(write)


class DescriptorPair(asyncio.Transport):
    """A transport over two descriptors, which may be the same one. It closes neither."""

    def __init__(self, read: int, write: int, protocol: asyncio.Protocol) -> None:
        super().__init__({"descriptors": (read, write)})
        self._loop = asyncio.get_running_loop()
        self._read = read
        self._write = write
        self._protocol = protocol
        self._buffer = bytearray()
        self._writable = select.poll()
        self._writable.register(write, select.POLLOUT)
        self._reading = self._writing = self._paused = self._closing = self._over = False
        self._done = asyncio.Event()
        self._file = False  # a file or /dev/null, which is always ready and can't be waited for
        self._protocol.connection_made(self)
        self.resume_reading()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._over:
            return
        self._buffer += data
        if not self._writing:
            self._flush()
        if len(self._buffer) > _HIGH and not self._paused:
            self._paused = True
            self._protocol.pause_writing()

    def pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            if not self._file:
                self._loop.remove_reader(self._read)

    def resume_reading(self) -> None:
        if self._reading or self._closing or self._over:
            return
        self._reading = True
        try:
            self._loop.add_reader(self._read, self._readable)
        except PermissionError:
            self._file = True
            self._loop.call_soon(self._readable)

    def is_closing(self) -> bool:
        return self._closing or self._over

    def close(self) -> None:
        self._closing = True
        self.pause_reading()
        if not self._buffer:
            self._end(None)

    def abort(self) -> None:
        self._end(None)

    async def flushed(self) -> None:
        """Wait until it is closed and everything was written that could be."""
        await self._done.wait()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._read, self._write) if name == "descriptors" else default

    def _readable(self) -> None:
        if not self._reading:
            return
        try:
            data = os.read(self._read, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # a client that is gone sends no more
            data = b""
        if data:
            self._protocol.data_received(data)
            if self._file and self._reading:
                self._loop.call_soon(self._readable)
        else:
            self.pause_reading()
            self._protocol.eof_received()

    def _flush(self) -> None:
        try:
            while self._buffer and self._writable.poll(0):
                written = os.write(self._write, memoryview(self._buffer)[: select.PIPE_BUF])
                del self._buffer[:written]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._end(error)
            return
        self._wait_to_write(bool(self._buffer))
        if self._paused and len(self._buffer) <= _LOW:
            self._paused = False
            self._protocol.resume_writing()
        if self._closing and not self._buffer:
            self._end(None)

    def _wait_to_write(self, needed: bool) -> None:
        if needed and not self._writing:
            self._loop.add_writer(self._write, self._flush)
        elif self._writing and not needed:
            self._loop.remove_writer(self._write)
        self._writing = needed

    def _end(self, error: OSError | None) -> None:
        if self._over:
            return
        self._over = True
        self.pause_reading()
        self._wait_to_write(False)
        self._buffer.clear()
        self._done.set()
        self._loop.call_soon(self._protocol.connection_lost, error)


def hung_up(transport: asyncio.BaseTransport) -> bool:
    """Whether the other end is closed, as far as the system can tell without writing."""
    pair = transport.get_extra_info("descriptors")
    socket = transport.get_extra_info("socket")
    if transport.is_closing() or (pair is None and socket is None):
        return transport.is_closing()
    look = select.poll()
    look.register(pair[1] if pair is not None else socket.fileno(), 0)
    return bool(look.poll(0))  # only that it hung up, or failed
