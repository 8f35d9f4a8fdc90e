"""Nodes killed, paused and started at random: every message arrives once, every session has one owner."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cluster_ground import Ground, Node, ground, until
from fake_responder import FakeResponder
from longwire.cluster.places import ClusterUnavailable
from longwire.cluster.redis_link import open_redis
from longwire.sessions.session import Session
from redis_server import COMMAND_WAIT, RedisServer, needs_redis, redis_server

pytestmark = needs_redis

STEPS = 50
NODES = 3
CLIENTS = 3
LEASE = 1.5  # seconds: nobody waits for one here, and a busy machine must not end one


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server(append_only=True) as running:
        yield running


class Wire:
    """One stream as its client sees it, over all of its connections."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.last_id = ""
        self._responder: FakeResponder | None = None

    def connect(self) -> FakeResponder:
        self.disconnect()
        self._responder = FakeResponder()
        return self._responder

    @property
    def connected(self) -> bool:
        self._collect()
        return self._responder is not None and not self._responder.gone

    def stall(self) -> None:
        """Read no more on this connection: what is sent now gets lost with it."""
        self._collect()
        if self._responder is not None:
            self._responder.stall()

    def disconnect(self) -> None:
        self._collect()
        if self._responder is not None:
            self._responder.drop()
            self._responder = None

    def _collect(self) -> None:
        """Note what arrived."""
        if self._responder is None:
            return
        events = self._responder.events
        start = next((i + 1 for i, event in enumerate(events) if event.id == self.last_id), 0)
        self.seen += [event.data for event in events[start:] if event.data]
        if events:
            self.last_id = events[-1].id

    def messages(self) -> list[str]:
        self._collect()
        return self.seen


class Client:
    """A client with a GET and calls, which comes back wherever its session is."""

    def __init__(self, session: Session) -> None:
        self.id = session.id
        self.get = Wire()
        self.calls: dict[int, Wire] = {}
        self.stored: list[int] = []  # messages that the owner has stored
        self.maybe: set[int] = set()  # messages of an owner that was killed at once
        self.ghosts: set[int] = set()  # messages of a node that doesn't have the session any more


class Storm:
    """Random steps."""

    def __init__(self, seed: int, nodes: Ground, redis: RedisServer) -> None:
        self._random = random.Random(seed)
        self._redis = redis
        self._ground = nodes
        self.alive: list[Node] = []
        self.paused: list[Node] = []
        self.clients: list[Client] = []
        self._number = 0
        self._labels = 0

    async def start(self) -> None:
        for _ in range(NODES):
            await self._start_node()
        for _ in range(CLIENTS):
            node = self._random.choice(self.alive)
            client = Client(await node.begin())
            await self._listen(client)
            self.clients.append(client)

    async def step(self, *, restarts: bool = False) -> None:
        """One step; `restarts`: Redis may be restarted too."""
        steps = {
            self._say: 8,
            self._call: 4,
            self._reply: 4,
            self._lose: 4,
            self._come_back: 6,
            self._kill: 3,
            self._pause: 2,
            self._continue: 3,
            self._restart_redis: 2 if restarts else 0,
        }
        chosen = self._random.choices(list(steps), list(steps.values()))[0]
        await chosen()
        await self.check_owners()

    # ---- what clients do ----------------------------------------------------------------------------

    async def owner(self, client: Client) -> tuple[Node, Session]:
        """A node that is asked at random has the session, or takes it over."""
        async with asyncio.timeout(10):
            while True:
                node = self._random.choice(self.alive)
                with suppress(ClusterUnavailable):  # the client tries again
                    session = await node.reach(client.id)
                    if session is not None:
                        return node, session

    async def _listen(self, client: Client) -> None:
        node, session = await self.owner(client)
        wire = client.get
        if wire.last_id:
            stream = session.log.resume(wire.last_id)
            assert stream is not None
        else:
            stream = session.log.open_get_stream()
            stream.prime()
        responder = wire.connect()
        stream.attach(responder)
        await node.stored()
        if not wire.last_id:
            await until(lambda: responder.events or responder.gone)
            wire.messages()

    async def _come_back(self) -> None:
        client = self._random.choice(self.clients)
        await self._listen(client)
        for wire in client.calls.values():
            if not wire.connected and not wire.seen:
                await self._resume_call(client, wire)

    async def _resume_call(self, client: Client, wire: Wire) -> None:
        node, session = await self.owner(client)
        stream = session.log.resume(wire.last_id)
        assert stream is not None
        stream.attach(wire.connect())
        await node.stored()

    async def _lose(self) -> None:
        client = self._random.choice(self.clients)
        for wire in (client.get, *client.calls.values()):
            if self._random.random() < 0.7:
                wire.stall()
            else:
                wire.disconnect()

    # ---- what servers do ----------------------------------------------------------------------------

    async def _say(self) -> None:
        client = self._random.choice(self.clients)
        node, session = await self.owner(client)
        for _ in range(self._random.randint(1, 4)):
            self._number += 1
            session.log.notify(b"%d" % self._number)
            client.stored.append(self._number)
        await node.stored()

    async def _call(self) -> None:
        client = self._random.choice(self.clients)
        node, session = await self.owner(client)
        self._number += 1
        stream = session.log.open_request_stream(self._number)
        stream.prime()
        wire = client.calls[self._number] = Wire()
        responder = wire.connect()
        stream.attach(responder)
        await node.stored()
        await until(lambda: responder.events)
        wire.messages()
        node.calls[self._number] = stream

    async def _reply(self) -> None:
        node = self._random.choice(self.alive)
        for number, stream in list(node.calls.items())[:2]:
            del node.calls[number]
            stream.add(json.dumps({"id": number, "result": {}}).encode(), "reply")
        await node.stored()

    # ---- what happens to nodes ----------------------------------------------------------------------

    async def _start_node(self) -> None:
        self._labels += 1
        node = await self._ground.node(f"n{self._labels % 4}x{self._labels}", lease=LEASE)
        self.alive.append(node)

    async def _kill(self) -> None:
        """End a node in the middle of what it does."""
        node = self._random.choice(self.alive)
        for client in self.clients:
            session = node.sessions.get(client.id)
            if session is not None and self._random.random() < 0.5:
                self._number += 1
                client.maybe.add(self._number)
                session.log.notify(b"%d" % self._number)
                if self._random.random() < 0.5:
                    await asyncio.sleep(self._random.random() * 0.002)
        await self._gone(node)
        await self._start_node()

    async def _pause(self) -> None:
        """Stop a node for longer than its lease; it doesn't know."""
        if len(self.paused) < 2:
            node = self._random.choice(self.alive)
            await self._gone(node)
            self.paused.append(node)
            await self._start_node()

    async def _gone(self, node: Node) -> None:
        for client in self.clients:
            if client.id in node.sessions:
                for wire in (client.get, *client.calls.values()):
                    wire.disconnect()
        await node.kill()
        self.alive.remove(node)
        await self.alive[0].link.call("DEL", node.link.key("node", node.link.node))  # as if it had ended

    async def _continue(self) -> None:
        """A node goes on that was paused; what it says of sessions that others have is not heard."""
        if not self.paused:
            return
        node = self.paused.pop(0)
        for client in self.clients:
            await self.owner(client)
            session = node.sessions.get(client.id)
            if session is not None:
                self._number += 1
                client.ghosts.add(self._number)
                session.log.notify(b"%d" % self._number)
        await node.gate.open()
        await until(lambda: not any(client.id in node.sessions for client in self.clients))
        await until(lambda: node.nodes.holds_lease)
        node.calls.clear()
        self.alive.append(node)

    async def _restart_redis(self) -> None:
        """Redis is killed and started again with its data; what is said meanwhile is stored later."""
        owned = [(client, *await self.owner(client)) for client in self.clients]
        self._redis.kill()
        for client, _, session in owned:
            self._number += 1
            client.stored.append(self._number)
            session.log.notify(b"%d" % self._number)
        self._redis.start()
        for node in self.alive:
            await until(lambda node=node: node.link.healthy and node.nodes.holds_lease)
        for client, node, session in owned:
            assert session.ended is None
            key = node.link.key("events", client.id)
            async with asyncio.timeout(10):
                while await _length(node, key) != len(session.snapshot().events):
                    await asyncio.sleep(0.02)

    # ---- what holds ---------------------------------------------------------------------------------

    async def check_owners(self) -> None:
        for client in self.clients:
            holders = [node for node in self.alive if client.id in node.sessions]
            assert len(holders) <= 1
            hearers = [node for node in self.alive if await _says_here(node, client.id)]
            assert len(hearers) <= 1

    async def finish(self) -> None:
        """Let all clients come back: each has every message once, in order, and one answer to each call."""
        while self.paused:
            await self._continue()
        for client in self.clients:
            await self._listen(client)
            for wire in client.calls.values():
                wire.disconnect()
            node, _ = await self.owner(client)
            for number in list(node.calls):
                node.calls.pop(number).add(json.dumps({"id": number, "result": {}}).encode(), "reply")
            for wire in client.calls.values():
                if not wire.seen:
                    await self._resume_call(client, wire)
            await until(lambda client=client: set(map(str, client.stored)) <= set(client.get.messages()))
            await until(lambda client=client: all(wire.messages() for wire in client.calls.values()))
            seen = [int(text) for text in client.get.messages()]
            assert seen == sorted(set(seen))
            assert set(client.stored) <= set(seen) <= set(client.stored) | client.maybe
            assert not set(seen) & client.ghosts
            for number, wire in client.calls.items():
                (answer,) = wire.messages()
                assert json.loads(answer)["id"] == number


async def _length(node: Node, key: str) -> int:
    with suppress(ClusterUnavailable):
        return int(await node.link.call("XLEN", key))
    return -1


async def _says_here(node: Node, session_id: str) -> bool:
    place = await node.ownership.find(session_id)
    return place is not None and place.alive and place.incarnation == node.nodes.incarnation


async def _play(server: RedisServer, seed: int, *, restarts: bool = False) -> None:
    async with open_redis(server.url, "clear", wait=COMMAND_WAIT) as link:
        await link.call("FLUSHALL")
    async with ground(server.socket) as nodes:
        storm = Storm(seed, nodes, server)
        await storm.start()
        for _ in range(STEPS):
            await storm.step(restarts=restarts)
        await storm.finish()


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_nothing_is_lost_and_nothing_comes_twice(server: RedisServer, seed: int) -> None:
    asyncio.run(_play(server, seed))


def test_redis_may_be_restarted_in_the_storm(server: RedisServer) -> None:
    asyncio.run(_play(server, 5, restarts=True))
