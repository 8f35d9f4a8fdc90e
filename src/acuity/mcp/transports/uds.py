"""A Unix socket with any number of clients, each with its own connection, newline-delimited.

Who may open the socket's file may use the server: it is its owner's alone from its first moment.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import logging
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server

from acuity.mcp.limits import BUSY
from acuity.mcp.settings import Settings, SettingsError
from acuity.mcp.transports.descriptors import CHUNK, Descriptors
from acuity.mcp.transports.framing import Lines
from acuity.mcp.transports.messages import encode, error_message
from acuity.mcp.transports.stream import FLUSH, serve_stream

logger: Final = logging.getLogger(__name__)

LONGEST_PATH: Final = 107  # bytes, with a zero after them
_BACKLOG: Final = 128
_ATTEMPTS: Final = 10  # to be alone in a folder
_PAUSE: Final = 0.02  # seconds between them


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A socket that listens there; its file goes with it. Raises SettingsError."""
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise SettingsError(
            f"the socket path '{path}' has {length} bytes, {LONGEST_PATH} are the most: shorten it"
        )
    with _alone_in(path.parent):
        _make_room(path)
        listener = _bound(path)
    ours, owner = os.stat(path), os.getpid()
    try:
        yield listener
    finally:
        listener.close()
        if os.getpid() == owner:  # a forked child has a copy of this block, not of the server
            _remove(path, ours)


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


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other servers that start at the same time from taking each other's file for a dead one's."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(f"the socket's folder '{folder}' can't be used: {error.strerror}") from None
    try:
        if not _locked(descriptor):
            raise SettingsError(f"another server is just starting in '{folder}': try again")
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether the lock could be had; others hold it for a moment only."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _make_room(path: Path) -> None:
    """Remove what a dead server left behind."""
    try:
        kind = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise SettingsError(f"'{path}' exists and is no socket: choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)  # nobody listens
            return
        except FileNotFoundError:
            return
        except BlockingIOError:
            pass  # somebody does, and has a full queue
        except PermissionError:
            raise SettingsError(f"'{path}' belongs to somebody else: choose another path") from None
    raise SettingsError(f"'{path}' is in use by another server: stop it or choose another path")


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Its file is made with this mode. The umask would do as well, but belongs to the whole process.
        os.fchmod(listener.fileno(), 0o700)
        listener.bind(str(path))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SettingsError(f"can't make the socket '{path}': {error.strerror}") from None
    return listener


def _remove(path: Path, ours: os.stat_result) -> None:
    """Remove the file unless it is another server's by now."""
    try:
        found = os.lstat(path)
        if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
            path.unlink()
    except OSError:
        pass
