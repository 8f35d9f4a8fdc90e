"""A handler on a TCP port, over HTTP or HTTPS, inside the server's own event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Final

import anyio

from longwire.settings import WireLimits
from longwire.wire.http.connection import Admission, PageHeaders
from longwire.wire.http.listener import Listener
from longwire.wire.http.port import Port
from longwire.wire.http.protocol import HttpProtocol
from longwire.wire.http.request import Handler
from longwire.wire.listeners import Address, bind, bound
from longwire.wire.serving import IGNORED, Presence

_FLUSH: Final = 0.5  # seconds for the last answers to be written
_LOOK: Final = 0.01  # seconds between looks whether they were
_CLOSING: Final = 1.0  # seconds for connections to go once their requests have ended


class HttpEndpoint:
    """A port that is being served."""

    def __init__(self, address: Address, listener: Listener, port: Port) -> None:
        self.address = address  # with the port that was chosen
        self._listener = listener
        self._port = port
        self._stopped: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Take no more connections; those there are go on until they have had one more answer."""
        self._listener.close()
        for connection in self._port.connections:
            connection.wind_down()

    async def stop(self) -> None:
        """Give POSTs a moment to be answered, then end all requests. A second call waits for the first."""
        if self._stopped is None:
            self._stopped = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopped)

    async def _stop(self) -> None:
        self.close()
        self._port.drop_half_open()
        with anyio.move_on_after(_FLUSH):
            while any(_is_post(connection) for connection in self._port.connections):
                await asyncio.sleep(_LOOK)
        for connection in self._port.connections:
            connection.stop()
        with anyio.move_on_after(_CLOSING):
            await self._port.empty()
        for connection in self._port.connections:
            connection.abort()
        with anyio.move_on_after(_CLOSING):
            await self._port.empty()
        await self._listener.end()


def _is_post(connection: HttpProtocol) -> bool:
    """Whether a connection has a request with an end of its own; event streams have none."""
    return connection.request is not None and connection.request.method == "POST"


@asynccontextmanager
async def serve_http(
    handler: Handler,
    address: Address,
    limits: WireLimits,
    *,
    admit: Admission | None = None,
    for_pages: PageHeaders | None = None,
    presence: Presence = IGNORED,
    listener: socket.socket | None = None,
    tls: ssl.SSLContext | None = None,
    refused: Counter[str] | None = None,
    proxies: Container[str] = (),
) -> AsyncIterator[HttpEndpoint]:
    """Serve a handler until the block ends; raises SettingsError where the address can't be used.

    `admit` decides by a request's head whether its body is read; `for_pages` gives the headers that let a
    page read a refusal; `presence` is told about connections; a `listener` is bound to the address already;
    `refused` counts requests that no handler saw, by reason; `proxies` are the addresses of those who connect
    for many clients.
    """
    listener = listener or bind(address)
    found = bound(listener)
    port = Port(handler, limits, presence, refused, admit, for_pages, proxies)
    endpoint = HttpEndpoint(found, Listener(listener, port, tls), port)
    try:
        yield endpoint
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.stop()
