"""A handler on a real port with raw connections to it, for the tests of ports."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from longwire.settings import WireLimits
from longwire.wire.http.port import Port
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.server import HttpEndpoint, serve_http
from longwire.wire.listeners import Address

LOCAL = Address("127.0.0.1", 0)
GET = b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"


class Pages:
    """A handler: /wait is answered when the test says so, /events is a stream, all else at once."""

    def __init__(self) -> None:
        self.waiting: list[Responder] = []
        self.streams: list[Responder] = []
        self.gone = 0
        self.paths: list[str] = []
        self.asked = asyncio.Event()

    def __call__(self, request: Request, responder: Responder) -> None:
        self.paths.append(request.path)
        responder.on_gone(self._left)
        if request.path == "/wait":
            self.waiting.append(responder)
        elif request.path == "/events":
            self.streams.append(responder)
            responder.begin_events()
            responder.send(b"data: 1\n\n")
        else:
            responder.answer(200, request.path.encode(), b"text/plain")
        self.asked.set()

    async def until(self, come: Callable[[], object]) -> None:
        """Wait until enough requests have come."""
        while not come():
            self.asked.clear()
            await self.asked.wait()

    def _left(self) -> None:
        self.gone += 1


class Reply(NamedTuple):
    """One answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """A client's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> Reply:
        """An answer without its body."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        return Reply(int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), b"")

    async def reply(self) -> Reply:
        found = await self.head()
        body = await self.reader.readexactly(int(found.headers.get("content-length", 0)))
        return found._replace(body=body)

    async def ask(self, path: bytes = b"x") -> Reply:
        self.send(GET % path)
        return await self.reply()

    async def rest(self) -> bytes:
        """All that comes until the server closes; nothing more if it drops the connection."""
        found = b""
        with suppress(ConnectionError):
            while data := await self.reader.read(1 << 16):
                found += data
        return found


class Ground:
    """A port and its clients."""

    def __init__(self, pages: Pages, endpoint: HttpEndpoint) -> None:
        self.pages = pages
        self.endpoint = endpoint
        self._wires: list[Wire] = []

    async def connect(self, tls: ssl.SSLContext | None = None, address: str | None = None) -> Wire:
        found = self.endpoint.address
        local = None if address is None else (address, 0)
        options = {} if tls is None else {"ssl": tls, "server_hostname": "localhost"}
        streams = await asyncio.open_connection(found.host, found.port, local_addr=local, **options)
        self._wires.append(Wire(*streams))
        return self._wires[-1]

    def close(self) -> None:
        for wire in self._wires:
            wire.writer.close()


@asynccontextmanager
async def ground(
    limits: WireLimits | None = None,
    tls: ssl.SSLContext | None = None,
    proxies: Container[str] = (),
    refused: Counter[str] | None = None,
    handler: Handler | None = None,
) -> AsyncIterator[Ground]:
    """Serve a handler, or else the pages, until the block ends; `refused` counts what the port refuses."""
    pages, limits = Pages(), limits or WireLimits()
    port = Port(handler or pages, limits, proxies=proxies, refused=refused)
    async with serve_http(port, LOCAL, tls=tls) as endpoint:
        made = Ground(pages, endpoint)
        try:
            yield made
        finally:
            made.close()
