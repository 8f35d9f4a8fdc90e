"""A handler on a TCP port, over HTTP or HTTPS, inside the server's own event loop.

The event loops' own servers won't do. That of uvloop accepts one connection in each turn of the loop, so that
a client that comes after two hundred others waits for two hundred turns. And no loop's server reports a
client before its TLS handshake is over, so clients that begin none could not be counted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from typing import Final

import anyio

from longwire.settings import WireLimits
from longwire.wire.http.connection import Admission, PageHeaders
from longwire.wire.http.port import Port
from longwire.wire.http.protocol import HttpProtocol
from longwire.wire.http.request import Handler
from longwire.wire.listeners import Address, bind, bound
from longwire.wire.serving import IGNORED, Presence
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

_AT_ONCE: Final = 64  # connections that are accepted in one turn of the loop
_GOODBYE: Final = 2.0  # seconds for the end of a TLS connection
_PAUSE: Final = 0.5  # seconds after an error such as that there are too many open files


class Listener:
    """A listening socket whose clients get a connection of the port, with TLS after their handshake."""

    def __init__(self, listener: socket.socket, port: Port, tls: ssl.SSLContext | None) -> None:
        self._listener = listener
        self._port = port
        self._tls = tls
        self._tasks = RunningTasks()
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.TimerHandle | None = None
        self._listen()

    def close(self) -> None:
        """Take no more connections."""
        if self._listener.fileno() < 0:
            return
        if self._again is not None:
            self._again.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()

    async def end(self) -> None:
        """End the handshakes that are under way."""
        self.close()
        await self._tasks.end()

    def _listen(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept those who wait."""
        for _ in range(_AT_ONCE):
            try:
                client, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("can't accept a connection: %s", error.strerror, extra={"event": "accept"})
                self._loop.remove_reader(self._listener)
                self._again = self._loop.call_later(_PAUSE, self._listen)
                return
            client.setblocking(False)
            connection = HttpProtocol(self._port)
            if self._tls is not None:  # others are counted when their connection is made, and are told
                connection.note_peer(peer)
                if not self._port.came(connection):
                    client.close()
                    continue
            connection.shaking_hands = self._tasks.spawn(self._connect(client, connection))

    async def _connect(self, client: socket.socket, connection: HttpProtocol) -> None:
        """Set up the connection, with TLS if wanted; a client that fails or takes too long is dropped."""
        timed = self._tls is not None  # asyncio takes seconds for TLS only
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=self._port.limits.head_timeout if timed else None,
                ssl_shutdown_timeout=_GOODBYE if timed else None,
            )
        except OSError as error:  # TLS and timeouts raise these too
            self._port.left(connection)
            if isinstance(error, ConnectionAbortedError):  # it took too long
                self._port.refused["slow"] += 1
        except asyncio.CancelledError:
            self._port.left(connection)
            raise
        finally:
            connection.shaking_hands = None


_FLUSH: Final = 0.5  # seconds for the last answers to be written
_LOOK: Final = 0.01  # seconds between looks whether they were
_CLOSING: Final = 1.0  # seconds for connections to go once their requests have ended


class HttpEndpoint:
    """A port that is being served."""

    def __init__(self, address: Address, listener: Listener, port: Port) -> None:
        self.address = address  # with the port that was chosen
        self._listener = listener
        self._port = port

    def close(self) -> None:
        """Take no more connections; those there are go on until they have had one more answer."""
        self._listener.close()
        for connection in self._port.connections:
            connection.wind_down()

    async def stop(self) -> None:
        """Give POSTs a moment to be answered, then end all requests. Has nothing to do a second time."""
        self.close()
        self._port.drop_half_open()
        with anyio.move_on_after(_FLUSH):
            while any(one.request and one.request.method == "POST" for one in self._port.connections):
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
