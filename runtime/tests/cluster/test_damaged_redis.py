"""What others write where a cluster keeps its own: it is written again, or forgotten."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from cluster_ground import Node, ground, lease_forgotten, until
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.errors import SettingsError
from redis_server import COMMAND_WAIT, RedisServer, needs_redis


@needs_redis
@pytest.mark.parametrize("value", [None, "junk", "[]", '{"incarnation": 7}'])
@pytest.mark.parametrize("key", ["node:a", "nodes", "data"])
async def test_a_lease_gives_way_to_its_node(server: RedisServer, key: str, value: str | None) -> None:
    async with ground(server.socket) as nodes, open_redis(server.url, "other", wait=COMMAND_WAIT) as link:
        a, b = await nodes.node("a"), await nodes.node("b")
        name = f"longwire:{key}"
        await link.call("DEL", name)
        if value is None:
            await link.call("LPUSH", name, "x")
        else:
            await link.call("SET", name, value)
        assert isinstance(await b.nodes.statuses() if key != "nodes" else [], list)
        kind = b"zset" if key == "nodes" else b"string"

        async def is_whole() -> bool:
            found = await link.call("TYPE", name)
            return found in (kind, kind.decode()) and (
                key == "data" or {s.label for s in await b.nodes.statuses() if s.alive} == {"a", "b"}
            )

        async with asyncio.timeout(10):
            while not await is_whole():
                await asyncio.sleep(0.01)
        await until(lambda: a.nodes.holds_lease and b.nodes.holds_lease)


def _hash(session_id: str) -> str:
    return f"longwire:session:{session_id}"


DAMAGE: dict[str, list[tuple[str, ...]]] = {
    "another type": [("DEL", "{hash}"), ("SET", "{hash}", "x")],
    "events of another type": [("DEL", "{events}"), ("SET", "{events}", "x")],
    "no owner's name": [("HSET", "{hash}", "owner", "junk")],
    "no fence": [("HSET", "{hash}", "fence", "x")],
    "no number": [("HSET", "{hash}", "next_event", "9" * 40)],
    "no client": [("HSET", "{hash}", "client", "{")],
    "a client that is a list": [("HSET", "{hash}", "client", "[]")],
    "no UTF-8": [("HSET", "{hash}", "principal", "\udcff")],
    "no version": [("HDEL", "{hash}", "version")],
    "a deep state": [("HSET", "{hash}", "state", "[" * 20_000)],
    "too much state": [("HSET", "{hash}", "state", json.dumps({"a": "x" * 70_000}))],
    "no event": [("XADD", "{events}", "9000-0", "x", "y")],
}


async def _damage(link: RedisLink, session_id: str, damage: str) -> None:
    names = {"hash": _hash(session_id), "events": f"longwire:events:{session_id}"}
    for command in DAMAGE[damage]:
        words = [names[word[1:-1]] if word in ("{hash}", "{events}") else word for word in command]
        await link.call(*(word.encode("utf-8", "surrogateescape") for word in words))


@needs_redis
@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_session_of_a_dead_node_is_forgotten(
    server: RedisServer, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with ground(server.socket) as nodes, open_redis(server.url, "other", wait=COMMAND_WAIT) as link:
            a, b = await nodes.node("a"), await nodes.node("b")
            session, other = await a.begin(), await a.begin()
            await a.kill()
            await lease_forgotten(server, "a")
            for one in (session, other):
                await _damage(link, one.id, damage)
                assert await b.reach(one.id) is None
                assert await b.ownership.find(one.id) is None  # which clients are answered with 404
                assert not await link.call("EXISTS", _hash(one.id))
            assert b.counters.journal_failures == 2
    told = [record for record in caplog.records if getattr(record, "event", "") == "session_damaged"]
    assert len(told) == 1
    assert "longwire:session:*" in told[0].getMessage()


@needs_redis
@pytest.mark.parametrize("damage", ["another type", "events of another type", "no fence"])
async def test_a_damaged_session_of_a_living_node_is_stored_again(server: RedisServer, damage: str) -> None:
    async with ground(server.socket) as nodes, open_redis(server.url, "other", wait=COMMAND_WAIT) as link:
        a: Node = await nodes.node("a")
        session = await a.begin()
        await _damage(link, session.id, damage)
        session.set_state("level", "debug")
        await a.stored()

        async def state() -> object:
            found = await link.call("TYPE", _hash(session.id))
            is_hash = found in (b"hash", "hash")
            return await link.call("HGET", _hash(session.id), "state") if is_hash else None

        async with asyncio.timeout(10):
            while await state() != b'{"level":"debug"}':
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("prefix", ["", "a b", "longwire:session", ":", "ä", "x" * 65])
def test_a_prefix_that_can_t_begin_keys_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match="can't begin keys: write 1 to 64 of"):
        RedisLink("redis://localhost", "a", prefix=prefix)
