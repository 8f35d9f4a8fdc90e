"""The client's end of two descriptors, whose flags stay as they are."""

from __future__ import annotations

import os
import select

import anyio
import anyio.lowlevel


class Descriptors:
    """Bytes to and from two descriptors, which may be the same one. It closes neither."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._writable = select.poll()
        self._writable.register(write, select.POLLOUT)

    async def receive(self) -> bytes:
        """Some bytes, or none at the end."""
        await anyio.wait_readable(self._read)
        try:
            return os.read(self._read, 65536)
        except ConnectionError:
            return b""

    async def send(self, data: bytes) -> None:
        """Write all of it; raises OSError if nobody reads any more."""
        rest = memoryview(data)
        while rest:
            if not self._writable.poll(0):
                await anyio.wait_writable(self._write)
            rest = rest[os.write(self._write, rest[: select.PIPE_BUF]) :]
