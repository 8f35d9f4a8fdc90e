"""A listening socket for TLS: clients whose handshake isn't over are half open, and bounded like others."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Final

from acuity.mcp.wire.http.port import Port
from acuity.mcp.wire.http.protocol import HttpProtocol
from acuity.mcp.wire.tasks import Tasks

logger: Final = logging.getLogger(__name__)

_GOODBYE: Final = 2.0  # seconds for the end of a TLS connection
_PAUSE: Final = 0.5  # seconds after an error such as that there are too many open files


class TlsListener:
    """A listening socket whose clients get a connection of the port after their handshake.

    The event loop's own server says nothing of a client before its handshake is over, so that those who begin
    none could not be counted.
    """

    def __init__(self, listener: socket.socket, port: Port, tls: ssl.SSLContext) -> None:
        self._listener = listener
        self._port = port
        self._tls = tls
        self._tasks = Tasks()
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Take no more connections."""
        self._accepting.cancel()
        self._listener.close()

    async def end(self) -> None:
        """End the handshakes that are under way."""
        self.close()
        await self._tasks.end()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, peer = await loop.sock_accept(self._listener)
            except OSError as error:
                logger.error("can't accept a connection: %s", error.strerror, extra={"event": "accept"})
                await asyncio.sleep(_PAUSE)
                continue
            connection = HttpProtocol(self._port)
            connection.note_peer(peer)
            if self._port.came(connection):
                connection.shaking_hands = self._tasks.spawn(self._shake_hands(client, connection))
            else:
                client.close()

    async def _shake_hands(self, client: socket.socket, connection: HttpProtocol) -> None:
        """Set up TLS; a client that fails or takes too long is dropped."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=self._port.limits.head_timeout,
                ssl_shutdown_timeout=_GOODBYE,
            )
        except OSError as error:  # also what TLS and timeouts raise
            self._port.left(connection)
            if isinstance(error, ConnectionAbortedError):  # it took too long
                self._port.refused["slow"] += 1
        except asyncio.CancelledError:
            self._port.left(connection)
            raise
        finally:
            connection.shaking_hands = None
