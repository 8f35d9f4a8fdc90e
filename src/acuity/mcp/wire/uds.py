"""A Unix socket with any number of clients, each with its own connection, newline-delimited.

Who may open the socket's file may use the server: it is its owner's alone from its first moment.
"""

from __future__ import annotations

import errno
import itertools
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server

from acuity.mcp.limits import BUSY
from acuity.mcp.settings import Settings
from acuity.mcp.wire.framing import Lines
from acuity.mcp.wire.messages import encode, error_message
from acuity.mcp.wire.stream import CHUNK, FLUSH, Descriptors, serve_stream
from acuity.mcp.wire.unix_socket import listening

logger: Final = logging.getLogger(__name__)


class UdsEndpoint:
    """A socket that is being served."""

    def __init__(self, path: Path, listener: socket.socket) -> None:
        self.path = path
        self.clients = 0
        self._listener = listener
        self._accepting = anyio.CancelScope()
        self._ending = anyio.Event()
        self._over = anyio.Event()

    def close(self) -> None:
        """Take no more clients; those there are go on."""
        self._accepting.cancel()

    async def finish(self) -> None:
        """Answer what was asked, and end."""
        self.close()
        self._ending.set()
        await self._over.wait()

    async def run(self, server: Server[Any], settings: Settings, lifespan_state: Any) -> None:
        numbers = itertools.count(1)
        async with anyio.create_task_group() as tasks:
            with self._accepting:
                while True:
                    client = await self._next()
                    name = f"uds:{next(numbers)}"
                    tasks.start_soon(self._serve, server, settings, client, name, lifespan_state)
            self._listener.close()  # from here on clients are refused rather than kept waiting
        self._over.set()

    async def _next(self) -> socket.socket:
        while True:
            await anyio.wait_readable(self._listener)
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue  # it has gone again
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                logger.error("can't take a client: %s", error.strerror, extra={"event": "accept_failed"})
                await anyio.sleep(1)  # the client stays in the queue
                continue
            client.setblocking(False)
            return client

    async def _serve(
        self, server: Server[Any], settings: Settings, client: socket.socket, name: str, lifespan_state: Any
    ) -> None:
        self.clients += 1
        try:
            with client:
                if self.clients > settings.connections:
                    self._turn_away(client)
                    return
                await serve_stream(
                    server,
                    Descriptors(client.fileno(), client.fileno(), CHUNK),
                    Lines(settings.body),
                    settings,
                    name=name,
                    lifespan_state=lifespan_state,
                    ending=self._ending,
                )
        except Exception:  # one client's trouble is not the others'
            logger.exception("a connection failed", extra={"event": "connection_failed", "client": name})
        finally:
            self.clients -= 1

    def _turn_away(self, client: socket.socket) -> None:
        reason = "too many clients are connected already: try again later"
        with suppress(OSError):
            client.send(encode(error_message(BUSY, reason)) + b"\n")


@asynccontextmanager
async def serve_uds(
    server: Server[Any], path: Path, settings: Settings, *, lifespan_state: Any
) -> AsyncIterator[UdsEndpoint]:
    """Serve clients of the socket until the block ends."""
    with listening(path) as listener:
        endpoint = UdsEndpoint(path, listener)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(endpoint.run, server, settings, lifespan_state)
            try:
                yield endpoint
            finally:
                with anyio.move_on_after(FLUSH, shield=True):
                    await endpoint.finish()
                tasks.cancel_scope.cancel()
