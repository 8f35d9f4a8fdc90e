"""The SDK's own Streamable HTTP server, asked without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from fake_responder import FakeResponder, parse_events
from longwire.principals.limits import CONNECTION


@dataclass
class Told:
    """What an answer tells a client, whichever form it has."""

    status: int
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, status: int, kind: str, headers: Mapping[str, str], body: bytes) -> Told:
        if kind.startswith("text/event-stream"):
            events = parse_events(body.replace(b"\r\n", b"\n"))
            return cls(status, "events", dict(headers), [json.loads(e.data) for e in events if e.data])
        try:
            return cls(status, "json", dict(headers), [json.loads(body)] if body else [])
        except ValueError:
            return cls(status, "text", dict(headers), [body.decode()])

    @classmethod
    def of_ours(cls, answer: FakeResponder) -> Told:
        assert answer.status is not None
        headers = {name.decode(): value.decode() for name, value in answer.headers.items()}
        body = answer.text if answer.began else answer.body
        return cls.of(answer.status, answer.kind.decode(), headers, body)


class Oracle:
    """A manager of the SDK that serves a server object."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def ask(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> Told:
        """One request, read to the end of its answer."""
        CONNECTION.set("token:alice")  # who it is, as the core's clients have it
        given = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": "/mcp", "headers": given, "query_string": b""}
        asked = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if asked:
                return asked.pop()
            await asyncio.Event().wait()  # the client stays
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._manager.handle_request(scope, receive, send)
        found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return Told.of(sent[0]["status"], found.get("content-type", ""), found, whole)


@asynccontextmanager
async def oracle(server: Server[Any]) -> AsyncIterator[Oracle]:
    manager = StreamableHTTPSessionManager(server)
    async with manager.run():
        yield Oracle(manager)
