"""Clients of the HTTP endpoints, by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin

import httpx2

from endpoint_bench import Measured, address_of, opening

PATH = "/mcp/sse"


class Event:
    """One event as it came."""

    def __init__(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
        self.kind = fields.get("event", "")
        self.id = fields.get("id")
        self.retry = fields.get("retry")
        self.data = fields.get("data", "")
        self.is_comment = not fields

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.data)
        return found


class Stream:
    """A stream of events, and the address for its messages."""

    def __init__(self, http: httpx2.AsyncClient, url: str, response: httpx2.Response) -> None:
        self.http = http
        self.url = url
        self.headers = response.headers
        self._events = events_of(response)

    async def next(self) -> Event:
        return await anext(self._events)

    async def receive(self) -> dict[str, Any]:
        while (event := await self.next()).is_comment:
            pass
        assert event.kind == "message"
        return event.message

    async def post(self, message: Any) -> httpx2.Response:
        return await post(self.http, self.url, message)


async def post(http: httpx2.AsyncClient, url: str, message: Any, **headers: str) -> httpx2.Response:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return await http.post(url, content=body, headers={"Content-Type": "application/json", **headers})


async def events_of(response: httpx2.Response) -> AsyncIterator[Event]:
    lines: list[str] = []
    rest = ""
    async for text in response.aiter_text():
        *whole, rest = (rest + text).split("\n")  # not splitlines: JSON may hold other line ends
        for line in whole:
            if line:
                lines.append(line)
            elif lines:
                yield Event(lines)
                lines = []


@asynccontextmanager
async def http_client() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as http:
        yield http


@asynccontextmanager
async def stream_at(http: httpx2.AsyncClient, url: str, **headers: str) -> AsyncIterator[Stream]:
    """A stream whose first two events have been read."""
    async with http.stream("GET", url, headers=headers) as response:
        assert response.status_code == 200
        stream = Stream(http, url, response)
        assert (await stream.next()).kind == "ready"
        endpoint = await stream.next()
        assert endpoint.kind == "endpoint"
        stream.url = urljoin(url, endpoint.data)
        yield stream


@asynccontextmanager
async def at_sse(*, fast: bool = True) -> AsyncIterator[tuple[Measured, httpx2.AsyncClient, str]]:
    """A server with event streams, and its address."""
    bench = Measured()
    async with (
        opening(bench, fast=fast) as endpoints,
        endpoints.sse(0, PATH) as endpoint,
        http_client() as http,
    ):
        yield bench, http, address_of(endpoint, "sse")
