"""Raw HTTP, for requests that no proper client would send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import anyio
import httpx2

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_TRIES = 40
_PAUSE = 0.2  # seconds between two tries
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(number: Any, tool: str = "echo", /, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def modern(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The request with its envelope, and the headers that go with it."""
    params = {**request["params"], "_meta": META}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": request["method"]}
    named = {"Mcp-Name": params["name"]} if "name" in params else {}
    return {**request, "params": params}, {**ACCEPT, **headers, **named}


class RawSession:
    """A session of Streamable HTTP."""

    def __init__(self, url: str, http: httpx2.AsyncClient, session_id: str, version: str) -> None:
        self.url = url
        self.http = http
        self.headers = {**ACCEPT, "Mcp-Session-Id": session_id, "MCP-Protocol-Version": version}

    async def post(self, message: Any) -> httpx2.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.http.post(self.url, content=body, headers=self.headers)

    @asynccontextmanager
    async def stream(self, message: Any) -> AsyncIterator[AsyncIterator[Event]]:
        """A request whose events are read one by one."""
        async with self.http.stream("POST", self.url, json=message, headers=self.headers) as response:
            assert response.status_code == 200
            yield events(response)

    @asynccontextmanager
    async def resume(self, last: str) -> AsyncIterator[AsyncIterator[Event]]:
        headers = {**self.headers, "Last-Event-ID": last}
        async with self.http.stream("GET", self.url, headers=headers) as response:
            assert response.status_code == 200
            yield events(response)


class Event:
    """A server-sent event."""

    def __init__(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in lines)
        self.id = fields.get("id", "")
        self.retry = fields.get("retry")
        self.message: dict[str, Any] = json.loads(fields["data"]) if fields.get("data") else {}


async def events(response: httpx2.Response) -> AsyncIterator[Event]:
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
            continue
        if any(not text.startswith(":") for text in lines):
            yield Event([text for text in lines if not text.startswith(":")])
        lines = []


class PatientClient(httpx2.AsyncClient):
    """A client that tries again where the server says so, as clients should."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        for _ in range(_TRIES):
            response = await super().send(request, **options)
            if response.status_code != 503:
                break
            await response.aclose()
            await anyio.sleep(_PAUSE)
        return response


@asynccontextmanager
async def http_client(
    address: str | None = None, *, patient: bool = False, **headers: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that comes from this address, such as 127.0.0.2, with these headers in every request."""
    limits = httpx2.Limits(max_connections=500)
    transport = httpx2.AsyncHTTPTransport(local_address=address, limits=limits, trust_env=False)
    kind = PatientClient if patient else httpx2.AsyncClient
    async with kind(timeout=30, transport=transport, trust_env=False, headers=headers) as http:
        yield http


async def open_session(
    url: str,
    http: httpx2.AsyncClient,
    version: str = "2025-11-25",
    capabilities: Mapping[str, Any] = MappingProxyType({}),
) -> RawSession:
    """Begin a session as a client that declares these capabilities."""
    params = {**HELLO["params"], "protocolVersion": version, "capabilities": dict(capabilities)}
    hello = {**HELLO, "params": params}
    answer = await http.post(url, json=hello, headers=ACCEPT)
    assert answer.status_code == 200, answer.text
    return RawSession(url, http, answer.headers["mcp-session-id"], version)
