"""Bytes in and out of file descriptors: pipes, sockets, terminals and files, without threads.

A descriptor may be shared with the process that started us, so its flags stay as they are: instead of making
it non-blocking, it is asked each time whether it is ready, and never given more than it then surely takes.
"""

from __future__ import annotations

import os
import select
from typing import Final, Protocol

import anyio
import anyio.lowlevel

CHUNK: Final = 65536


class ByteStream(Protocol):
    """The two directions of one connection."""

    async def receive(self) -> bytes:
        """Some bytes, or none at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Write all of it; raises OSError if nobody reads any more."""
        ...


class Descriptors:
    """A connection over two descriptors, which may be the same one. It closes neither.

    `most` is what may be written at once: more than a pipe surely takes is for those that never block.
    """

    def __init__(self, read: int, write: int, most: int = select.PIPE_BUF) -> None:
        self._read = read
        self._write = write
        self._most = most
        self._read_waits = _can_wait(read)
        self._write_waits = _can_wait(write)
        self._writable = select.poll()
        self._writable.register(write, select.POLLOUT)

    async def receive(self) -> bytes:
        while True:
            if self._read_waits:
                await anyio.wait_readable(self._read)
            else:
                await anyio.lowlevel.checkpoint()
            try:
                return os.read(self._read, CHUNK)
            except BlockingIOError:  # another process that shares it was faster
                continue
            except ConnectionError:  # who is gone sends no more
                return b""

    async def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            if self._write_waits and not self._writable.poll(0):
                await anyio.wait_writable(self._write)
            try:
                rest = rest[os.write(self._write, rest[: self._most]) :]
            except BlockingIOError:
                await anyio.wait_writable(self._write)


def _can_wait(descriptor: int) -> bool:
    """Whether the system tells when it is ready; files and /dev/null always are."""
    with select.epoll() as probe:
        try:
            probe.register(descriptor, select.EPOLLIN)
        except PermissionError:
            return False
    return True
