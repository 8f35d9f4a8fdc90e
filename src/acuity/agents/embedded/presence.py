"""The clients that are connected, the live pages that are open, and the signals of the end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import ExitStack, suppress
from typing import Final

_MOST_CLIENTS: Final = 64  # that are remembered of one connection
_LOOK: Final = 0.1  # seconds between looks at whether answers are being made
EMPTY: Final = 60.0  # seconds in which a client may come to a server that stays for clients
QUIET: Final = 2.0  # seconds in which a client that was told the end asks for more, if it wants any

PAGE_NAME: Final = "acuity-live-page"  # what the page calls itself in its handshake
# Seconds without a word after which a page counts as closed: browsers let hidden ones speak once a minute.
SILENCE: Final = 100.0


class Presence:
    """The connections of all transports. For the server's loop; wait_for_client() is for other threads."""

    def __init__(self, quiet: float = QUIET) -> None:
        self._quiet = quiet
        self._connected: set[object] = set()
        self._clients: dict[object, dict[str, None]] = {}  # of HTTP connections, the newest last
        self.on_client: Callable[[str], None] = lambda _: None  # is told who came or left
        self._heard = 0.0  # by time.monotonic()
        self._asked = False  # whether a client sent more than a handshake
        self._first = threading.Event()  # set when one did, or none can come
        self._left = asyncio.Event()
        self._came = asyncio.Event()

    # ---- from the transports ----------------------------------------------------------------

    def came(self, connection: object) -> None:
        self._connected.add(connection)
        self._came.set()

    def heard(self, connection: object) -> None:
        """Note that a connection sent something."""
        self.came(connection)
        self._heard = time.monotonic()

    def spoke(self, connection: object, client: str) -> None:
        """Note that a connection sent an HTTP request of this client."""
        if connection not in self._connected:  # it was closed meanwhile
            return
        clients = self._clients.setdefault(connection, {})
        clients[client] = clients.pop(client, None)
        if len(clients) > _MOST_CLIENTS:
            del clients[next(iter(clients))]
        self.on_client(client)

    def has(self, client: str) -> bool:
        """Whether an HTTP connection is open that this client has used."""
        return any(client in clients for clients in self._clients.values())

    def asked(self) -> None:
        """Note that a client sent a request."""
        if not self._asked:
            self._asked = True
            self._first.set()

    def left(self, connection: object) -> None:
        self._connected.discard(connection)
        for client in self._clients.pop(connection, ()):
            self.on_client(client)
        if not self._connected:
            self._left.set()

    def give_up(self) -> None:
        """Release wait_for_client(), as no client can come any more."""
        self._first.set()

    # ---- waiting for clients -----------------------------------------------------------------

    def wait_for_client(self, timeout: float | None) -> bool:
        """Wait until a client has asked for something; returns whether one has."""
        self._first.wait(timeout)
        return self._asked

    async def everybody_left(self, empty: float | None = None) -> None:
        """Wait until the last client has left; where nobody is connected, `empty` seconds for one to come."""
        self._left.clear()
        if not self._connected:
            self._came.clear()
            try:
                async with asyncio.timeout(empty):
                    await self._came.wait()
            except TimeoutError:
                return
        if self._connected:
            await self._left.wait()

    async def settled(self, timeout: float, answering: Callable[[], bool]) -> None:
        """Wait until nobody is connected or all clients are silent, `timeout` seconds at most.

        A client that waits for an answer isn't silent: `answering` says whether one is being made.
        """
        begin = time.monotonic()
        while self._connected:
            now = time.monotonic()
            if answering():
                self._heard = now
            rest = min(begin + timeout, max(begin, self._heard) + self._quiet) - now
            if rest <= 0:
                return
            self._left.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(rest, _LOOK)):
                    await self._left.wait()


class Watchers:
    """The live pages by the connection they have. For the server's loop."""

    def __init__(self, silence: float = SILENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence = silence
        self._clock = clock
        self._heard: dict[Hashable, float] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        begin = self._clock() - self._silence
        return sum(heard >= begin for heard in self._heard.values())

    def heard(self, page: Hashable) -> bool:
        """Note that a page sent something; returns whether it is new."""
        new = page not in self._heard
        self._heard[page] = self._clock()
        return new

    def left(self, page: Hashable) -> None:
        self._heard.pop(page, None)
        self._changed.set()

    async def everybody_left(self, patience: float = 0.0) -> None:
        """Wait until no page is open; one that is loaded anew gets so many seconds to come back."""
        while True:
            while len(self):
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._silence / 10):
                        await self._changed.wait()
            await asyncio.sleep(patience)
            if not len(self):
                return


class EndSignals(ExitStack):
    """The end of the measurement, and that of the server, as signals on the server's loop.

    It is closed before clients are disconnected: what ends streams and the copying of pictures is called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.over = asyncio.Event()  # set when no more frames come
        self.answering: Callable[[], bool] = lambda: False  # whether a client waits for an answer
