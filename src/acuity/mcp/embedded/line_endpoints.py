"""Where clients with framed messages come from: a Unix socket, or two descriptors of the host's."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Final

import anyio
from mcp_types import INVALID_REQUEST

from acuity.mcp.embedded.descriptor_pair import DescriptorPair
from acuity.mcp.embedded.lines import LineConnection
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.limits import BUSY
from acuity.mcp.wire.messages import encode, error_message
from acuity.mcp.wire.stream import FLUSH
from acuity.mcp.wire.unix_socket import listening, peer_may_connect

_FULL: Final = encode(error_message(BUSY, "too many clients are connected already: try again later")) + b"\n"
_OWNER: Final = "this socket is for the user who runs the measurement: connect as that user"
_FOREIGN: Final = encode(error_message(INVALID_REQUEST, _OWNER)) + b"\n"

# Makes a connection of that name, which tells when it is over.
NewConnection = Callable[[str, Callable[[LineConnection], None]], LineConnection]


class UdsFront:
    """A Unix socket that is being served."""

    def __init__(self, path: Path, new: NewConnection, presence: Presence, most: int) -> None:
        self.path = path
        self._new = new
        self._presence = presence
        self._most = most
        self._numbers = itertools.count(1)
        self._open: set[LineConnection] = set()
        self._none = asyncio.Event()
        self._none.set()

    @property
    def clients(self) -> int:
        return len(self._open)

    def accept(self, client: socket.socket) -> asyncio.Protocol:
        """What serves a client that has connected."""
        if not peer_may_connect(client):
            return _TurnedAway(_FOREIGN)
        if len(self._open) >= self._most:
            return _TurnedAway(_FULL)
        connection = self._new(f"uds:{next(self._numbers)}", self._left)
        self._open.add(connection)
        self._presence.came(connection)
        self._none.clear()
        return connection

    def _left(self, client: LineConnection) -> None:
        self._open.discard(client)
        self._presence.left(client)
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
async def uds_endpoint(
    path: Path, new: NewConnection, presence: Presence, most: int, listener: socket.socket | None = None
) -> AsyncIterator[UdsFront]:
    """Serve clients of a Unix socket until the block ends, which may listen already. Raises SettingsError."""
    with nullcontext(listener) if listener is not None else listening(path) as listener:
        front = UdsFront(path, new, presence, most)
        server = await asyncio.get_running_loop().create_unix_server(lambda: _Accepted(front), sock=listener)
        try:
            yield front
        finally:
            server.close()
            await front.finish()


@asynccontextmanager
async def pair_endpoint(
    read: int, write: int, name: str, new: NewConnection, presence: Presence, on_end: Callable[[], None]
) -> AsyncIterator[LineConnection]:
    """Serve the client at two descriptors until the block ends; `on_end` is told when it has left before."""
    over = asyncio.Event()

    def ended(client: LineConnection) -> None:
        presence.left(client)
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


class _Accepted(asyncio.Protocol):
    """A connection of which it isn't known yet whose it is."""

    def __init__(self, front: UdsFront) -> None:
        self._front = front

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        protocol = self._front.accept(transport.get_extra_info("socket"))
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class _TurnedAway(asyncio.Protocol):
    """A client that isn't served, and is told why."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._answer)
        transport.close()
