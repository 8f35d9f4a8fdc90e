"""Nodes in one process: real ports between them, and an ownership that a test decides."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fake_responder import FakeResponder
from longwire.cluster.cluster_handler import ClusterHandler
from longwire.cluster.forwarding import Forwarder
from longwire.cluster.nodes import NodeStatus
from longwire.cluster.signatures import Signatures
from longwire.cluster.traffic import PeersHandler
from longwire.counters import RuntimeCounters
from longwire.settings import WireLimits
from longwire.wire.http.port import Port
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.server import serve_http
from longwire.wire.listeners import LOOPBACK, Address
from waiting import until

KEY = b"k" * 32
LIMITS = WireLimits(max_message=4 << 20, heartbeat=15.0)
SESSION = "a-1"
HEADERS = {"mcp-session-id": SESSION, "accept": "application/json, text/event-stream"}


def post(message: Any = None, **headers: str) -> Request:
    body = json.dumps(message or {"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    return Request("POST", "/mcp", headers={**HEADERS, **headers}, body=body)


def get(**headers: str) -> Request:
    return Request("GET", "/mcp", headers={**HEADERS, **headers})


class FakeOwnership:
    """Where sessions are, as a test says; None: nowhere; an exception is raised."""

    place: NodeStatus | Exception | None = None
    finds = 0
    take_overs = 0

    async def take(self, session_id: str) -> bool:
        """What becomes of a take-over, if a test doesn't say it."""
        return False

    async def find(self, session_id: str) -> NodeStatus | None:
        self.finds += 1
        await asyncio.sleep(0)
        if isinstance(self.place, Exception):
            raise self.place
        return self.place

    async def take_over(self, session_id: str, found: NodeStatus) -> object:
        self.take_overs += 1
        return await self.take(session_id) or None


class Node:
    """One node: what its own handler does, the sessions that it has, and what it counted."""

    def __init__(self, label: str, local: Handler, key: bytes = KEY) -> None:
        self.label = label
        self.incarnation = f"{label}-life"
        self.sessions: set[str] = set()
        self.ownership = FakeOwnership()
        self.counters = RuntimeCounters()
        self.seen: list[Request] = []
        self._serve = local
        self.alive = True  # the other one, as this one knows it
        signatures = Signatures(key, label, self.incarnation, time.time)
        self.forwarder = Forwarder(signatures, LIMITS, self.lives)
        self.public = ClusterHandler(
            self.local, self.sessions, self.ownership, self.forwarder, self.counters, self.incarnation
        )
        self.refused: Counter[str] = Counter()
        self.peers = PeersHandler(self.local, self.sessions, signatures, self.refused)
        self.place = NodeStatus(label, True, "", self.incarnation)

    async def lives(self, _: NodeStatus) -> bool:
        return self.alive

    def local(self, request: Request, responder: Responder) -> None:
        self.seen.append(request)
        if request.headers.get("mcp-session-id") in self.sessions:
            self._serve(request, responder)
        else:
            responder.answer(404, b"Session not found")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Node]:
        """The port for other nodes, while the block lasts."""
        async with serve_http(Port(self.peers.handle, LIMITS), Address(LOOPBACK, 0)) as endpoint:
            self.place = replace(self.place, address=f"http://{endpoint.address}")
            try:
                yield self
            finally:
                await self.public.close()
                self.forwarder.close()


def hello(request: Request, responder: Responder) -> None:
    """Answer with who asks."""
    known = {"principal": request.principal.key, "address": request.address, "method": request.method}
    responder.answer(200, json.dumps(known).encode(), b"application/json", ((b"mcp-session-id", b"a-1"),))


@asynccontextmanager
async def pair(owner: Handler, key: bytes = KEY) -> AsyncIterator[tuple[Node, Node]]:
    """Two nodes, of which the second has the session; the key is that of the first."""
    one, other = Node("b", hello, key), Node("a", owner)
    async with one.open(), other.open():
        other.sessions.add(SESSION)
        one.ownership.place = other.place
        yield one, other


async def ask(node: Node, request: Request, **options: Any) -> FakeResponder:
    """What a node answers, once the answer has ended."""
    responder = FakeResponder(**options)
    node.public.handle(request, responder)
    await until(lambda: responder.gone)
    return responder
