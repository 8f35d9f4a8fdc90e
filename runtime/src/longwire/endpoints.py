"""Endpoints, at which a server can be reached: their kinds, and how each is opened.

A new transport is a file of its own, a record here and a line in the table.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import anyio
from mcp_types import INVALID_REQUEST

from longwire.errors import SettingsError
from longwire.guard.access import Access, Guarded
from longwire.http_runtime import HttpRuntime, http_runtime
from longwire.principals.limits import BUSY
from longwire.wire.descriptors import DescriptorPair, claimed_stdio
from longwire.wire.framing import FRAMINGS, FramingName
from longwire.wire.http.port import Port
from longwire.wire.http.request import Handler, Request
from longwire.wire.http.routes import Routes
from longwire.wire.http.server import serve_http
from longwire.wire.lines import LINGER, LineConnection
from longwire.wire.listeners import Address, listening, peer_may_connect
from longwire.wire.messages import RefusedMessage
from longwire.wire.serving import Serving
from longwire.wire.sse import SseStreams

PATH: Final = "/mcp"  # of Streamable HTTP
_FLUSH: Final = 2 * LINGER  # seconds for the last answers to be written when the server ends
_TOLD: Final = 1.0  # seconds in which a client that is turned away reads why
_FULL: Final = "too many clients are connected already: try again later"
_FOREIGN: Final = "this socket is for the user who runs the measurement: connect as that user"


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Stdio:
    """stdin and stdout of this process."""

    framing: FramingName = "auto"
    on_end: Callable[[], None] = _nothing  # called when the client has gone


@dataclass(frozen=True, slots=True)
class Pair:
    """Two descriptors of one client; the caller closes them."""

    read: int
    write: int
    framing: FramingName = "lines"
    on_end: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class Uds:
    """A Unix socket with any number of clients, a message for each line.

    The file of the socket is its owner's alone from its first moment. With `same_user`, a client's
    user is checked too, in case the file's mode was changed.
    """

    path: Path
    listener: socket.socket | None = None  # where it listens already
    same_user: bool = False


Offer: TypeAlias = Literal["http", "sse"]


class SsePaths(NamedTuple):
    """The paths at which event streams are opened, and their messages posted."""

    stream: str = "/sse"
    messages: str = "/messages/"


@dataclass(frozen=True, slots=True)
class Http:
    """A port with Streamable HTTP, HTTP+SSE or both."""

    address: Address
    offers: frozenset[Offer] = frozenset({"http"})
    sse: SsePaths = field(default_factory=SsePaths)
    pages: Mapping[str, Handler] = field(default_factory=dict)  # other handlers, by path
    files: Mapping[str, Handler] = field(default_factory=dict)  # of a page, by path; they take no token
    is_open: Callable[[Request], bool] | None = None  # says which other requests take no token
    listener: socket.socket | None = None  # where it listens already
    tls: ssl.SSLContext | None = None  # None: without TLS


@dataclass(frozen=True, slots=True)
class Page:
    """A port for operators, such as that of metrics. It is open until the server has ended."""

    name: str
    address: Address
    handler: Handler
    path: str = "/"
    tls: ssl.SSLContext | None = None  # None: without TLS
    access: Access | None = None  # who may come; None: as for clients, and on this machine everybody
    open_paths: frozenset[str] = frozenset()  # these take no token


@dataclass(frozen=True, slots=True)
class Peers:
    """A port for the other nodes of a cluster, and for nobody else."""

    address: Address
    listener: socket.socket | None = None  # where it listens already


Endpoint: TypeAlias = Stdio | Pair | Uds | Http | Page | Peers


@dataclass(frozen=True, slots=True)
class Open:
    """An endpoint that takes clients."""

    transport: str
    where: str  # a URL or path, with the port that was chosen
    close: Callable[[], None] = _nothing  # take no more


def open_endpoint(
    endpoint: Endpoint, serving: Serving, runtime: HttpRuntime | None = None
) -> AbstractAsyncContextManager[list[Open]]:
    """Serve there until the block ends; raises SettingsError where that can't be.

    `runtime` is what the server's HTTP endpoints share; without one, each has its own.
    """
    return _OPENERS[type(endpoint)](endpoint, serving, runtime)


# ---- byte streams -------------------------------------------------------------------------------


@asynccontextmanager
async def _stdio(endpoint: Stdio, serving: Serving, _: object = None) -> AsyncIterator[list[Open]]:
    with claimed_stdio() as (read, write):
        async with _pair(Pair(read, write, endpoint.framing, endpoint.on_end), serving):
            yield [Open("stdio", "stdin and stdout")]


@asynccontextmanager
async def _pair(endpoint: Pair, serving: Serving, _: object = None) -> AsyncIterator[list[Open]]:
    over = asyncio.Event()

    def ended(_: LineConnection) -> None:
        over.set()
        endpoint.on_end()

    framing = FRAMINGS[endpoint.framing](serving.limits.max_message)
    client = LineConnection(serving, framing, name="stdio", on_end=ended)
    transport = DescriptorPair(endpoint.read, endpoint.write, client)
    try:
        yield [Open("stdio", f"descriptors {endpoint.read} and {endpoint.write}")]
    finally:
        client.finish()
        with anyio.move_on_after(_FLUSH, shield=True):
            await over.wait()
            await transport.flushed()
        client.abort()


@asynccontextmanager
async def _uds(endpoint: Uds, serving: Serving, _: object = None) -> AsyncIterator[list[Open]]:
    with nullcontext(endpoint.listener) if endpoint.listener else listening(endpoint.path) as listener:
        clients = _UdsClients(serving, endpoint.same_user)
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: _Accepted(clients), sock=listener
        )
        try:
            yield [Open("uds", str(endpoint.path), server.close)]
        finally:
            server.close()
            await clients.finish()


class _UdsClients:
    """The connections of one Unix socket."""

    def __init__(self, serving: Serving, same_user: bool) -> None:
        self._serving = serving
        self._same_user = same_user
        self._names = (f"uds:{number}" for number in itertools.count(1))
        self._open: set[LineConnection] = set()
        self._turned_away: set[_TurnedAway] = set()
        self._none = asyncio.Event()
        self._none.set()

    def accept(self, client: socket.socket) -> asyncio.Protocol:
        """The protocol for a client that has connected."""
        if self._same_user and not peer_may_connect(client):
            return _TurnedAway(INVALID_REQUEST, _FOREIGN, set())
        limits = self._serving.limits
        if len(self._open) >= limits.max_connections:
            while len(self._turned_away) >= limits.max_connections:
                self._turned_away.pop().close()
            return _TurnedAway(BUSY, _FULL, self._turned_away)
        framing = FRAMINGS["lines"](limits.max_message)
        connection = LineConnection(self._serving, framing, name=next(self._names), on_end=self._left)
        self._open.add(connection)
        self._serving.presence.came(connection)
        self._none.clear()
        return connection

    def _left(self, client: LineConnection) -> None:
        self._open.discard(client)
        if not self._open:
            self._none.set()

    async def finish(self) -> None:
        """Answer what was asked, and end."""
        for client in self._open:
            client.finish()
        with anyio.move_on_after(_FLUSH, shield=True):
            await self._none.wait()
        for client in list(self._open):
            client.abort()
        for refused in self._turned_away:
            refused.close()


class _Accepted(asyncio.Protocol):
    """A connection whose peer was not checked yet."""

    def __init__(self, clients: _UdsClients) -> None:
        self._clients = clients

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        protocol = self._clients.accept(transport.get_extra_info("socket"))
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class _TurnedAway(asyncio.Protocol):
    """A client that is told why it isn't served.

    What it sends is read and dropped for a moment: closed with unread bytes, the socket would be reset, and
    many clients then report that in place of the reason.
    """

    def __init__(self, code: int, reason: str, others: set[_TurnedAway]) -> None:
        self._answer = RefusedMessage(code, reason).payload + b"\n"
        self._others = others

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._stream = cast(asyncio.Transport, transport)  # as far as it is used here
        self._others.add(self)
        self._stream.write(self._answer)
        self._stream.write_eof()
        self._timer = asyncio.get_running_loop().call_later(_TOLD, self.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._others.discard(self)

    def close(self) -> None:
        self._stream.close()


# ---- ports --------------------------------------------------------------------------------------


@asynccontextmanager
async def _http(endpoint: Http, serving: Serving, runtime: HttpRuntime | None) -> AsyncIterator[list[Open]]:
    handlers: dict[str, Handler] = {**endpoint.pages, **endpoint.files}
    found: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        if runtime is None:
            runtime = await stack.enter_async_context(http_runtime(serving))
        if "http" in endpoint.offers:
            handlers[PATH], found["http"] = runtime.handle, PATH
        if "sse" in endpoint.offers:
            bare = runtime.bare if serving.bare else None
            streams = SseStreams(serving, endpoint.sse.stream, endpoint.sse.messages, bare)
            stack.push_async_callback(streams.close)
            stack.callback(serving.access.tokens.on_gone(streams.end_gone))
            handlers |= streams.paths()
            found["sse"] = endpoint.sse.stream
        routes = Routes(handlers, shown=[*endpoint.pages, *found.values()])
        files, is_open = endpoint.files, endpoint.is_open
        guarded = Guarded(serving.access, routes, endpoint.address, open_paths=files, is_open=is_open)
        yield await stack.enter_async_context(
            _port(guarded, endpoint.address, serving, found, endpoint.listener, endpoint.tls)
        )


@asynccontextmanager
async def _page(endpoint: Page, serving: Serving, _: object = None) -> AsyncIterator[list[Open]]:
    guarded = Guarded(
        endpoint.access or serving.access,
        endpoint.handler,
        endpoint.address,
        for_operators=endpoint.access is None,
        open_paths=endpoint.open_paths,
    )
    paths = {endpoint.name: endpoint.path}
    async with _port(guarded, endpoint.address, serving, paths, tls=endpoint.tls) as opened:
        yield [replace(port, close=_nothing) for port in opened]


@asynccontextmanager
async def _peers(endpoint: Peers, serving: Serving, runtime: HttpRuntime | None) -> AsyncIterator[list[Open]]:
    if runtime is None or runtime.peers is None:
        raise SettingsError("a port for other nodes is for a node of a cluster: set [cluster] redis")
    # Nodes prove who they are by signatures alone: names, origins and tokens are for clients.
    handler, refused = runtime.drain.public(runtime.peers.handle), serving.access.refused
    served = Port(handler, serving.limits, admit=runtime.peers.admits, refused=refused)
    async with serve_http(served, endpoint.address, listener=endpoint.listener) as port:
        # It stays open while the server drains: calls for clients of other nodes may finish.
        yield [Open("peers", f"http://{port.address}{PATH}")]


@asynccontextmanager
async def _port(
    guarded: Guarded,
    address: Address,
    serving: Serving,
    paths: Mapping[str, str],
    listener: socket.socket | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[list[Open]]:
    scheme = "http" if tls is None else "https"
    served = Port(
        guarded,
        serving.limits,
        admit=guarded.admits,
        for_pages=guarded.page_headers,
        presence=serving.presence,
        refused=serving.access.refused,
        proxies=guarded.proxies,
    )
    async with serve_http(served, address, listener=listener, tls=tls) as port:
        yield [Open(name, f"{scheme}://{port.address}{path}", port.close) for name, path in paths.items()]


_Opener: TypeAlias = Callable[[Any, Serving, HttpRuntime | None], AbstractAsyncContextManager[list[Open]]]
_OPENERS: Final[dict[type[Any], _Opener]] = {
    Stdio: _stdio,
    Pair: _pair,
    Uds: _uds,
    Http: _http,
    Page: _page,
    Peers: _peers,
}
