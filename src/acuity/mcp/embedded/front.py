"""How clients reach an embedded server: every transport it has, in the event loop of its own thread."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from mcp.server.lowlevel import Server

from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.http_endpoints import HttpFront, Served, http_endpoint, sse_endpoint
from acuity.mcp.embedded.line_endpoints import NewConnection, UdsFront, pair_endpoint, uds_endpoint
from acuity.mcp.embedded.lines import LineConnection
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.wire.connection import shared_lifespan
from acuity.mcp.wire.framing import FRAMINGS, Framing, FramingName
from acuity.mcp.wire.tokens import Tokens


class Front:
    """One server for any number of endpoints, each of which is served while its block is entered.

    On each a client may shake hands, send envelopes, or ask without either.
    """

    def __init__(
        self,
        server: Server[Any],
        quick: QuickAnswers,
        limits: FrontLimits,
        *,
        presence: Presence | None = None,
        tokens: Tokens | None = None,
        measurement: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        """`tokens` are asked of HTTP clients; `measurement` says in short how far the work is."""
        self._server = server
        self._quick = quick
        self._limits = limits
        self._presence = presence or Presence()
        self._tokens = tokens or Tokens()
        self._measurement = measurement
        self._lifespan = shared_lifespan(server)
        self._state: Any = None

    async def __aenter__(self) -> Front:
        self._state = await self._lifespan.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lifespan.__aexit__(kind, error, trace)

    def uds(self, path: Path, listener: socket.socket | None = None) -> AbstractAsyncContextManager[UdsFront]:
        """A Unix socket, a message for each line; it may listen already. Raises SettingsError."""
        new = self._connections("lines")
        return uds_endpoint(path, new, self._presence, self._limits.connections, listener)

    def pair(
        self, read: int, write: int, framing: FramingName, on_end: Callable[[], None]
    ) -> AbstractAsyncContextManager[LineConnection]:
        """Two descriptors, which stay the caller's to close; `on_end` is told when the client has left."""
        return pair_endpoint(read, write, "stdio", self._connections(framing), self._presence, on_end)

    def sse(
        self, port: int, path: str, listener: socket.socket | None = None
    ) -> AbstractAsyncContextManager[HttpFront]:
        """Event streams and POSTs at a path of 127.0.0.1; port 0 is any free one. Raises SettingsError."""
        return sse_endpoint(self._served(), port=port, path=path, listener=listener)

    def http(
        self, port: int, listener: socket.socket | None = None
    ) -> AbstractAsyncContextManager[HttpFront]:
        """Streamable HTTP at /mcp of 127.0.0.1; port 0 is any that is free. Raises SettingsError."""
        return http_endpoint(self._served(), port=port, listener=listener)

    def _served(self) -> Served:
        return Served(
            self._server,
            self._quick,
            self._limits,
            self._state,
            self._presence,
            self._tokens,
            self._measurement,
        )

    def _connections(self, framing: FramingName) -> NewConnection:
        def new(name: str, on_end: Callable[[LineConnection], None]) -> LineConnection:
            made: Framing = FRAMINGS[framing](self._limits.line)
            return LineConnection(
                self._server,
                self._quick,
                made,
                self._limits,
                name=name,
                lifespan_state=self._state,
                presence=self._presence,
                on_end=on_end,
            )

        return new
