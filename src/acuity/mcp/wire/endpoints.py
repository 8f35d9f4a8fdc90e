"""Where a server can be reached: what an endpoint is, and how each kind is opened.

A new transport is a file of its own, a record here and a line in the table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from mcp.server.lowlevel import Server
from starlette.types import ASGIApp

from acuity.mcp.settings import Settings
from acuity.mcp.wire import http_app as streamable
from acuity.mcp.wire import sse
from acuity.mcp.wire.address import Address
from acuity.mcp.wire.framing import FramingName
from acuity.mcp.wire.http import serve_http
from acuity.mcp.wire.http_app import HttpApp, Lifespan
from acuity.mcp.wire.security import Guarded, HttpSecurity
from acuity.mcp.wire.stdio import serve_stdio
from acuity.mcp.wire.tokens import Tokens
from acuity.mcp.wire.uds import serve_uds


@dataclass(frozen=True, slots=True)
class Stdio:
    """stdin and stdout of this process; the server ends when stdin does."""

    framing: FramingName = "auto"


@dataclass(frozen=True, slots=True)
class Uds:
    """A Unix socket."""

    path: Path


@dataclass(frozen=True, slots=True)
class Http:
    """A port with Streamable HTTP, HTTP+SSE or both."""

    address: Address
    offers: frozenset[Literal["http", "sse"]] = frozenset({"http"})


@dataclass(frozen=True, slots=True)
class Page:
    """A port with something else for operators, such as metrics."""

    name: str
    address: Address
    app: ASGIApp
    path: str = "/"


Endpoint: TypeAlias = Stdio | Uds | Http | Page


@dataclass(frozen=True, slots=True)
class Access:
    """What all HTTP endpoints ask of their clients."""

    tokens: Tokens = field(default_factory=Tokens)
    names: frozenset[str] = frozenset()  # further host names this server is called by

    def at(self, address: Address) -> HttpSecurity:
        return HttpSecurity.for_address(address, tokens=self.tokens, names=self.names)


@dataclass(frozen=True, slots=True)
class Serving:
    """What endpoints serve, and how."""

    server: Server[Any]
    settings: Settings
    access: Access
    lifespan_state: Any
    on_end: Callable[[], None]  # for an endpoint whose end is the server's


@dataclass(frozen=True, slots=True)
class Open:
    """An endpoint that takes clients."""

    transport: str
    where: str  # a URL or path, with the port that was chosen
    close: Callable[[], None]  # take no more


@asynccontextmanager
async def _stdio(endpoint: Stdio, serving: Serving) -> AsyncIterator[list[Open]]:
    async with serve_stdio(
        serving.server,
        serving.settings,
        framing=endpoint.framing,
        lifespan_state=serving.lifespan_state,
        on_end=serving.on_end,
    ):
        yield [Open("stdio", "stdin and stdout", _nothing)]


@asynccontextmanager
async def _uds(endpoint: Uds, serving: Serving) -> AsyncIterator[list[Open]]:
    async with serve_uds(
        serving.server, endpoint.path, serving.settings, lifespan_state=serving.lifespan_state
    ) as listening:
        yield [Open("uds", str(endpoint.path), listening.close)]


_PATHS: Final[dict[str, str]] = {"http": streamable.PATH, "sse": sse.PATH}


@asynccontextmanager
async def _http(endpoint: Http, serving: Serving) -> AsyncIterator[list[Open]]:
    apps: dict[str, ASGIApp] = {}
    lifespan: Lifespan = nullcontext
    if "http" in endpoint.offers:
        apps, lifespan = streamable.streamable_paths(serving.server, serving.settings)
    if "sse" in endpoint.offers:
        apps |= sse.sse_paths(serving.server, serving.settings, serving.lifespan_state)
    paths: dict[str, str] = {offer: _PATHS[offer] for offer in sorted(endpoint.offers)}
    app = HttpApp(apps, lifespan)
    async with _port(app, endpoint.address, serving, paths) as opened:
        yield opened


@asynccontextmanager
async def _page(endpoint: Page, serving: Serving) -> AsyncIterator[list[Open]]:
    async with _port(endpoint.app, endpoint.address, serving, {endpoint.name: endpoint.path}) as opened:
        yield opened


@asynccontextmanager
async def _port(
    app: ASGIApp, address: Address, serving: Serving, paths: dict[str, str]
) -> AsyncIterator[list[Open]]:
    guarded = Guarded(app, serving.access.at(address))
    async with serve_http(
        guarded,
        address.host,
        address.port,
        write_timeout=serving.settings.write_timeout,
        connections=serving.settings.connections,
    ) as port:
        yield [Open(name, f"http://{port.address}{path}", port.close) for name, path in paths.items()]


_OPENERS: Final[dict[type[Any], Callable[[Any, Serving], AbstractAsyncContextManager[list[Open]]]]] = {
    Stdio: _stdio,
    Uds: _uds,
    Http: _http,
    Page: _page,
}


def open_endpoint(endpoint: Endpoint, serving: Serving) -> AbstractAsyncContextManager[list[Open]]:
    """Serve there until the block ends; raises SettingsError where that can't be."""
    return _OPENERS[type(endpoint)](endpoint, serving)


def _nothing() -> None:
    pass
