"""The endpoints of an embedded server: each of its transports with the addresses and habits it has here.

At `/` of a port is the live page for browsers, and the health document for everybody else. Anybody on the
machine may load the page and its files, as often as they like: they are sent when there is time for pages.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import pydantic_core

from longwire.endpoints import PATH, Http, Offer, Open, Pair, SsePaths, Uds, open_endpoint
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.wire.framing import FramingName
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.routes import JSON, for_methods
from longwire.wire.http.static_files import page_headers, static_files
from longwire.wire.listeners import LOOPBACK, Address
from longwire.wire.serving import Serving

Opening: TypeAlias = AbstractAsyncContextManager[list[Open]]
# Calls a function at once, or when there is time for it.
Paced: TypeAlias = Callable[[Callable[[], object]], object]

_INDEX: Final = "live.html"
_READ: Final = ("GET", "HEAD")


def local_access(tokens: Tokens | None = None) -> Access:
    """What HTTP clients of a server on 127.0.0.1 are asked for."""
    return Access(tokens or Tokens(), wrong_host=f"use its address, {LOOPBACK}", local_pages=True)


class Endpoints:
    """Opens endpoints; each is served while its block is entered. Raises SettingsError."""

    def __init__(
        self,
        serving: Serving,
        measurement: Callable[[], dict[str, Any]] = dict,
        paced: Paced = lambda work: work(),
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
        pages: dict[str, Handler] = {"/": for_methods(_READ, health)}
        page_files: dict[str, Handler] = {}
        if with_page := "http" in offers:
            found = {name: self._when_paced(handler) for name, handler in _page_files().items()}
            page = found.pop(_INDEX)
            pages["/"] = for_methods(
                _READ, lambda ask, responder: (page if _asks_for_page(ask) else health)(ask, responder)
            )
            page_files = {f"/live/{name}": for_methods(_READ, handler) for name, handler in found.items()}
        is_open = _asks_for_page if with_page else None
        http = Http(
            Address(LOOPBACK, port),
            offers,
            sse,
            pages=pages,
            files=page_files,
            is_open=is_open,
            listener=listener,
        )
        return open_endpoint(http, self._serving)

    def _when_paced(self, handler: Handler) -> Handler:
        def handle(request: Request, responder: Responder) -> None:
            self._paced(lambda: None if responder.gone else handler(request, responder))

        return handle

    def _health(self, path: str) -> Handler:
        """The answer at `/`: that the server is there, and where to speak to it."""

        def answer(_: Request, responder: Responder) -> None:
            server = self._serving.server.server_info_stamp
            about = {"status": "ok", "server": server, "endpoint": path, "measurement": self._measurement()}
            responder.answer(200, pydantic_core.to_json(about), JSON)

        return answer


def _asks_for_page(request: Request) -> bool:
    """Whether a request is a browser's for the page: it takes no token, as there is no secret in it."""
    return (
        request.path == "/" and request.method in _READ and "text/html" in request.headers.get("accept", "")
    )


@cache
def _page_files() -> dict[str, Handler]:
    """The handlers of the page's files: its own, and those that it shares with report pages."""
    folders = [files(package).joinpath("static") for package in ("acuity.report", __package__)]
    return static_files(folders, page_headers("'self' data:"))
