"""Where clients with framed messages come from: a Unix socket, or two descriptors of the host's."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from acuity.mcp.embedded.descriptor_pair import DescriptorPair
from acuity.mcp.embedded.lines import LineConnection
from acuity.mcp.limits import BUSY
from acuity.mcp.transports.messages import encode, error_message
from acuity.mcp.transports.stream import FLUSH
from acuity.mcp.transports.uds import listening

_FULL: Final = encode(error_message(BUSY, "too many clients are connected already: try again later")) + b"\n"

# Makes a connection of that name, which tells when it is over.
NewConnection = Callable[[str, Callable[[LineConnection], None]], LineConnection]


class UdsFront:
    """A Unix socket that is being served."""

    def __init__(self, path: Path, new: NewConnection, most: int) -> None:
        self.path = path
        self._new = new
        self._most = most
        self._numbers = itertools.count(1)
        self._open: set[LineConnection] = set()
        self._none = asyncio.Event()
        self._none.set()

    @property
    def clients(self) -> int:
        return len(self._open)

    def accept(self) -> asyncio.Protocol:
        """What takes the next client."""
        if len(self._open) >= self._most:
            return _TurnedAway()
        client = self._new(f"uds:{next(self._numbers)}", self._left)
        self._open.add(client)
        self._none.clear()
        return client

    def _left(self, client: LineConnection) -> None:
        self._open.discard(client)
        if not self._open:
            self._none.set()

    async def finish(self) -> None:
        """Answer what was asked, and end."""
        for client in self._open:
            client.finish()
        with anyio.move_on_after(FLUSH, shield=True):
            await self._none.wait()
        for client in list(self._open):
            client.abort()


@asynccontextmanager
async def uds_endpoint(path: Path, new: NewConnection, most: int) -> AsyncIterator[UdsFront]:
    """Serve clients of a Unix socket until the block ends. Raises SettingsError."""
    with listening(path) as listener:
        front = UdsFront(path, new, most)
        server = await asyncio.get_running_loop().create_unix_server(front.accept, sock=listener)
        try:
            yield front
        finally:
            server.close()
            await front.finish()


@asynccontextmanager
async def pair_endpoint(
    read: int, write: int, name: str, new: NewConnection, on_end: Callable[[], None]
) -> AsyncIterator[LineConnection]:
    """Serve the client at two descriptors until the block ends; `on_end` is told when it has left before."""
    over = asyncio.Event()

    def ended(_: LineConnection) -> None:
        over.set()
        on_end()

    client = new(name, ended)
    pair = DescriptorPair(read, write, client)
    try:
        yield client
    finally:
        client.finish()
        with anyio.move_on_after(FLUSH, shield=True):
            await over.wait()
            await pair.flushed()
        client.abort()


class _TurnedAway(asyncio.Protocol):
    """One client too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(_FULL)
        transport.close()
