"""The Streamable HTTP runtime with tools that ask, and clients without I/O."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from fake_responder import FakeResponder
from longwire.counters import RuntimeCounters
from longwire.dispatch.streamable import Streamable
from longwire.guard.access import Access
from longwire.journal.journal import Journal
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.sessions.registry import Sessions
from longwire.settings import WireLimits
from longwire.wire.http.request import Request
from longwire.wire.serving import Serving

VERSION = "2025-11-25"
NOTHING = {"type": "object", "properties": {}}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}


class Ground:
    """The runtime with tools that ask."""

    def __init__(
        self,
        tools: dict[str, Callable[[Call], Awaitable[Answer]]],
        journal: Journal | None = None,
        **limits: Any,
    ) -> None:
        self.limits = replace(WireLimits(), **limits)
        self.counters = RuntimeCounters()
        self.sessions = Sessions(self.limits, journal or Journal(), self.counters)
        rules = AskingRules(
            self.limits.capability_policy, self.limits.client_timeout, self.counters.count_request
        )
        catalog = Catalog(tools=[Tool(name, name, "Asks.", NOTHING, run) for name, run in tools.items()])
        server = build_server(catalog, name="t", version="1", asking=rules)
        self.runtime = Streamable(Serving(server, self.limits, {}, Access()), self.sessions, self.counters)

    @property
    def counted(self) -> dict[tuple[str, str], int]:
        return dict(self.counters.client_requests)

    def send(self, method: str, document: Any = None, **headers: str) -> FakeResponder:
        body = b"" if document is None else json.dumps(document).encode()
        responder = FakeResponder()
        self.runtime.handle(Request(method, "/mcp", headers={**HEADERS, **headers}, body=body), responder)
        return responder

    def begin(self, capabilities: dict[str, Any] = ABLE) -> Session:
        params = {"protocolVersion": VERSION, "capabilities": capabilities}
        hello = {**params, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.send("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        assert answer.status == 200, answer.body
        return Session(self, answer.headers[b"mcp-session-id"].decode())


class Session:
    """One client's session."""

    def __init__(self, ground: Ground, session_id: str) -> None:
        self.ground = ground
        self.headers = {"mcp-session-id": session_id, "mcp-protocol-version": VERSION}

    def call(self, tool: str, number: int = 1) -> FakeResponder:
        params = {"name": tool, "arguments": {}}
        return self.post({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def post(self, document: Any) -> FakeResponder:
        return self.ground.send("POST", document, **self.headers)

    def get(self, **headers: str) -> FakeResponder:
        return self.ground.send("GET", **self.headers, **headers)

    def reply(self, asked: dict[str, Any], result: dict[str, Any]) -> int | None:
        return self.post({"jsonrpc": "2.0", "id": asked["id"], "result": result}).status


async def heard(responder: FakeResponder, number: int) -> list[dict[str, Any]]:
    """The messages of an answer of events, when there are so many."""
    async with asyncio.timeout(10):
        while len(responder.messages) < number:
            await asyncio.sleep(0)
    return [json.loads(message) for message in responder.messages]


async def answered(responder: FakeResponder) -> dict[str, Any]:
    """The document of an answer in JSON."""
    async with asyncio.timeout(10):
        while not responder.ended:
            await asyncio.sleep(0)
    found: dict[str, Any] = json.loads(responder.body)
    return found
