"""The endpoints of an embedded server: each of its transports with the addresses and habits it has here."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pydantic_core

from acuity.mcp.embedded.page.page_files import Paced, asks_for_page, at_once, page_files, with_page
from acuity.mcp.endpoints import PATH, Http, Offer, Open, Pair, SsePaths, Uds, open_endpoint
from acuity.mcp.wire.framing import FramingName
from acuity.mcp.wire.guard.access import Access
from acuity.mcp.wire.guard.tokens import Tokens
from acuity.mcp.wire.http.request import Handler, Request, Responder
from acuity.mcp.wire.http.routes import JSON, for_methods
from acuity.mcp.wire.listeners import LOOPBACK, Address
from acuity.mcp.wire.serving import Serving

Opening = AbstractAsyncContextManager[list[Open]]


def local_access(tokens: Tokens | None = None) -> Access:
    """What HTTP clients of a server on 127.0.0.1 are asked for."""
    return Access(tokens or Tokens(), wrong_host=f"use its address, {LOOPBACK}", local_pages=True)


class Endpoints:
    """Opens endpoints; each is served while its block is entered. Raises SettingsError."""

    def __init__(
        self,
        serving: Serving,
        measurement: Callable[[], dict[str, Any]] = dict,
        paced: Paced = at_once,
    ) -> None:
        """`measurement` says in short how far the work is; `paced` says when a page's file is sent."""
        self._serving = serving
        self._measurement = measurement
        self._paced = paced

    def uds(self, path: Path, listener: socket.socket | None = None) -> Opening:
        """A Unix socket for this user alone; it may listen already."""
        return open_endpoint(Uds(path, listener, same_user=True), self._serving)

    def pair(self, read: int, write: int, framing: FramingName, on_end: Callable[[], None]) -> Opening:
        """Two descriptors, which stay the caller's to close; `on_end` is called when the client has left."""
        return open_endpoint(Pair(read, write, framing, on_end), self._serving)

    def sse(self, port: int, path: str, listener: socket.socket | None = None) -> Opening:
        """Event streams and POSTs at a path of 127.0.0.1; port 0 is any free one."""
        paths = SsePaths(path, f"{path.rpartition('/')[0]}/request")
        # The page speaks Streamable HTTP, wherever it was opened.
        offers: frozenset[Offer] = frozenset({"sse"} if PATH in paths else {"sse", "http"})
        return self._port(port, path, listener, offers, paths)

    def http(self, port: int, listener: socket.socket | None = None) -> Opening:
        """Streamable HTTP at /mcp of 127.0.0.1; port 0 is any free one."""
        return self._port(port, PATH, listener, frozenset({"http"}), SsePaths())

    def _port(
        self,
        port: int,
        path: str,
        listener: socket.socket | None,
        offers: frozenset[Offer],
        sse: SsePaths,
    ) -> Opening:
        health = self._health(path)
        page = "http" in offers
        endpoint = Http(
            Address(LOOPBACK, port),
            offers,
            sse,
            pages={"/": with_page(health, self._paced) if page else for_methods(("GET", "HEAD"), health)},
            files=page_files(self._paced) if page else {},
            is_open=asks_for_page if page else None,
            listener=listener,
        )
        return open_endpoint(endpoint, self._serving)

    def _health(self, path: str) -> Handler:
        """The answer at `/`: that the server is there, and where to speak to it."""

        def answer(_: Request, responder: Responder) -> None:
            server = self._serving.server.server_info_stamp
            about = {"status": "ok", "server": server, "endpoint": path, "measurement": self._measurement()}
            responder.answer(200, pydantic_core.to_json(about), JSON)

        return answer
