"""Nodes of a cluster in one process, over one real Redis. Each has a way to it that can be cut."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from fake_responder import FakeResponder
from longwire.cluster.cluster_node import cluster_sessions
from longwire.cluster.nodes import Nodes
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.cluster.shared_notifications import SharedNotifications
from longwire.counters import RuntimeCounters
from longwire.sessions.registry import Sessions
from longwire.sessions.session import Session
from longwire.settings import WireLimits
from redis_server import COMMAND_WAIT
from waiting import SOON, until

LEASE = 0.8  # seconds: shorter than in earnest
LONG = 2.5  # of nodes that have to renew theirs in time: a busy machine stops this process for a while
BEAT = 0.1
ALICE = "token:alice"
VERSION = "2025-11-25"
CLIENT = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


class Gate:
    """The way from one node to Redis."""

    def __init__(self, path: Path, redis: Path) -> None:
        self.path = path
        self._redis = redis
        self._server: asyncio.Server | None = None
        self._pairs: set[asyncio.StreamWriter] = set()
        self._muted = False

    async def open(self) -> None:
        self._muted = False
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    def shut(self) -> None:
        """Cut all connections, and take no more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.path.unlink(missing_ok=True)
        for writer in list(self._pairs):
            writer.transport.abort()

    def mute(self) -> None:
        """Let commands through, and no answers."""
        self._muted = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._pairs.add(writer)
        try:
            there, back = await asyncio.open_unix_connection(self._redis)
        except OSError:
            writer.transport.abort()
            return
        self._pairs.add(back)
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer, answers=True))
        self._pairs -= {writer, back}

    async def _pump(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool = False
    ) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                if not (answers and self._muted):
                    target.write(data)
                    await target.drain()
        target.transport.abort()


class Node:
    """A node's sessions, as a server has them."""

    def __init__(
        self, nodes: Nodes, made: tuple[Sessions, SessionOwnership, SharedNotifications], gate: Gate
    ) -> None:
        self.link = nodes.link
        self.nodes = nodes
        self.sessions, self.ownership, self.notifications = made
        self.counters = self.sessions.counters
        self.gate = gate

    async def begin(self, principal: str = ALICE) -> Session:
        session = self.sessions.begin(principal, VERSION, CLIENT)
        await self.stored()
        return session

    async def stored(self) -> None:
        """Wait until the journal has all changes, or goes on without."""
        done = asyncio.Event()
        self.sessions.journal.when_stored(done.set)
        await asyncio.wait_for(done.wait(), SOON)

    async def reach(self, session_id: str) -> Session | None:
        """The session at this node, taken over if its owner is dead; None: another node has it, or nobody."""
        if session_id not in self.sessions:
            place = await self.ownership.find(session_id)
            if place is None or place.alive:
                return None
            await self.ownership.take_over(session_id, place)
        return self.sessions.find(session_id, ALICE)

    async def resume(self, session_id: str, last_event_id: str) -> FakeResponder:
        session = await self.reach(session_id)
        stream, responder = session.log.resume(last_event_id), FakeResponder()
        stream.attach(responder)
        return responder

    async def kill(self) -> None:
        """Make it dead for all others, without a farewell."""
        self.gate.shut()


class Ground:
    """Starts nodes."""

    def __init__(self, redis: Path, folder: Path, stack: AsyncExitStack) -> None:
        self._redis = redis
        self._folder = folder
        self._stack = stack
        self._gates = 0

    async def node(
        self, label: str, *, lease: float = LEASE, ttl: float = 60.0, secret: str = "", **limits: int
    ) -> Node:
        self._gates += 1
        gate = Gate(self._folder / f"{self._gates}.sock", self._redis)
        await gate.open()
        self._stack.callback(gate.shut)
        way = open_redis(f"unix://{gate.path}", label, wait=COMMAND_WAIT)
        link = await self._stack.enter_async_context(way)
        where = f"http://127.0.0.1:{9000 + self._gates}"
        nodes = Nodes(link, where, secret=secret, lease=lease, beat=BEAT)
        await nodes.join()
        self._stack.push_async_callback(nodes.leave)
        own = cluster_sessions(nodes, WireLimits(idle_timeout=ttl, **limits), RuntimeCounters())
        made = await self._stack.enter_async_context(own)
        return Node(nodes, made, gate)


@asynccontextmanager
async def ground(redis: Path) -> AsyncIterator[Ground]:
    """Nodes that end with the block."""
    with tempfile.TemporaryDirectory(prefix="longwire-gates-") as folder:
        async with AsyncExitStack() as stack:
            yield Ground(redis, Path(folder), stack)


async def listening(node: Node) -> tuple[Session, FakeResponder]:
    """A session with a GET that its client can come back to."""
    session, get = await node.begin(), FakeResponder()
    stream = session.log.open_get_stream()
    stream.prime()
    stream.attach(get)
    await until(lambda: get.events)
    return session, get


async def lease_forgotten(link: RedisLink, label: str) -> None:
    """Wait until Redis itself has no lease of a node, whoever is cut off from it."""

    async def is_gone() -> bool:
        return not await link.call("EXISTS", link.key("node", label))

    await until(is_gone)


async def lease_ended(other: Node, label: str) -> None:
    """Wait until a node is dead for another one."""

    async def is_dead() -> bool:
        return not any(status.alive for status in await other.nodes.statuses() if status.label == label)

    await until(is_dead)
