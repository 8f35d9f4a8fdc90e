"""What something else writes where a cluster keeps its own: it is written again, or forgotten."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial

import pytest

from cluster_ground import Ground, lease_forgotten
from longwire.cluster.redis_link import RedisLink
from longwire.cluster.shared_rates import SharedAllowances
from longwire.errors import ClusterUnavailable
from longwire.principals.rates import Rate
from redis_server import needs_redis
from waiting import until

pytestmark = needs_redis
STREAM = "longwire:notifications"


async def _equals(asked: Awaitable[object], expected: object) -> bool:
    return await asked == expected


def told(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    return [one.getMessage() for one in caplog.records if getattr(one, "event", "") == event]


NO_LEASES = (None, b"", b"\xff", b'{"incarnation": "x', b"[]", b"7", b'{"incarnation": 7}')


@pytest.mark.parametrize("key", ["node:a", "nodes", "data"])
async def test_leases_and_their_list_are_written_again(nodes: Ground, link: RedisLink, key: str) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    name = f"longwire:{key}"

    async def is_whole(value: bytes | None) -> bool:
        if await link.call("TYPE", name) != (b"zset" if key == "nodes" else b"string"):
            return False
        if key == "node:a" and value is not None and await link.call("GET", name) == value:
            return False
        return {one.label for one in await b.nodes.statuses() if one.alive} == {"a", "b"}

    for value in NO_LEASES:
        await link.call("DEL", name)
        await (link.call("LPUSH", name, "x") if value is None else link.call("SET", name, value))
        await until(partial(is_whole, value))
        await until(lambda: a.nodes.holds_lease and b.nodes.holds_lease)


# Commands on {hash} and {events}, with what they put in the place of what a node wrote.
DAMAGE: dict[str, list[tuple[bytes, ...]]] = {
    "a hash of another type": [(b"DEL", b"{hash}"), (b"SET", b"{hash}", b"x")],
    "events of another type": [(b"DEL", b"{events}"), (b"SET", b"{events}", b"x")],
    "no owner's name": [(b"HSET", b"{hash}", b"owner", b"junk")],
    "an owner that is no text": [
        (b"HSET", b"{hash}", b"owner", b"\xff:\xff"),
        (b"HDEL", b"{hash}", b"client"),
    ],
    "no fence": [(b"HDEL", b"{hash}", b"fence"), (b"HSET", b"{hash}", b"fence", b"x")],
    "a negative fence": [(b"HSET", b"{hash}", b"fence", b"-5")],
    "the greatest fence": [(b"HSET", b"{hash}", b"fence", b"9223372036854775807")],
    "a number of 40 digits": [(b"HSET", b"{hash}", b"next_event", b"9" * 40)],
    "a negative number": [(b"HSET", b"{hash}", b"next_stream", b"-2000000")],
    "a truncated client": [(b"HSET", b"{hash}", b"client", b'{"clientInfo": {"na')],
    "no UTF-8": [(b"HSET", b"{hash}", b"principal", b"\xff")],
    "no version": [(b"HDEL", b"{hash}", b"version")],
    "no time": [(b"HSET", b"{hash}", b"created", b"nan")],
    "a deep state": [(b"HSET", b"{hash}", b"state", b"[" * 20_000)],
    "a stream's request that is a list": [(b"HSET", b"{hash}", b"s1", b"0[]")],
    "a negative notification": [(b"HSET", b"{hash}", b"notified", b"-1")],
    "an event without its fields": [(b"XADD", b"{events}", b"9-0", b"x", b"y")],
    "an event of no kind": [(b"XADD", b"{events}", b"9-0", b"s", b"0", b"k", b"x", b"p", b"1")],
    "an event of two lines": [(b"XADD", b"{events}", b"9-0", b"s", b"0", b"k", b"reply", b"p", b"1\n2")],
    "an event of a later time": [
        (b"XADD", b"{events}", b"9000000-0", b"s", b"0", b"k", b"reply", b"p", b"1")
    ],
}


async def _damage(link: RedisLink, session_id: str, damage: str) -> None:
    names = {b"{hash}": link.key("session", session_id), b"{events}": link.key("events", session_id)}
    for command in DAMAGE[damage]:
        await link.call(*(names.get(word, word) for word in command))


async def test_damaged_sessions_of_a_dead_node_are_forgotten_and_others_go_on(
    nodes: Ground, link: RedisLink, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    damaged = {damage: await a.begin() for damage in DAMAGE}
    good = await a.begin()
    await a.kill()
    await lease_forgotten(link, "a")
    for damage, session in damaged.items():
        await _damage(link, session.id, damage)
        assert await b.reach(session.id) is None, damage
        assert await b.ownership.find(session.id) is None, damage  # clients are answered with 404
        keys = link.key("session", session.id), link.key("events", session.id)
        assert not await link.call("EXISTS", *keys), damage
    assert await b.reach(good.id) is not None
    assert b.counters.journal_failures == len(DAMAGE)
    assert len(told(caplog, "session_damaged")) == 1
    assert "let nothing else write keys like 'longwire:session:*'" in told(caplog, "session_damaged")[0]


@pytest.mark.parametrize(
    "damage", ["a hash of another type", "events of another type", "no fence", "a negative fence"]
)
async def test_a_living_nodes_damaged_session_is_stored_again(
    nodes: Ground, link: RedisLink, damage: str
) -> None:
    a = await nodes.node("a")
    bad, good = await a.begin(), await a.begin()
    await _damage(link, bad.id, damage)
    for session in (bad, good):
        session.set_state("level", "debug")
        session.log.notify(b"1")
    await a.stored()

    async def state(session_id: str) -> object:
        with suppress(ClusterUnavailable):
            return await link.call("HGET", link.key("session", session_id), "state")
        return None

    await until(lambda: _equals(asyncio.gather(state(bad.id), state(good.id)), [b'{"level":"debug"}'] * 2))
    assert not a.sessions.journal.at_risk(good.id)
    assert bad.ended is None


async def test_a_damaged_session_does_not_hold_up_others_after_an_outage(
    nodes: Ground, link: RedisLink
) -> None:
    a = await nodes.node("a")
    bad, gone = await a.begin(), await a.begin()
    a.gate.shut()
    await lease_forgotten(link, "a")
    await _damage(link, bad.id, "a hash of another type")
    await link.call("HSET", link.key("session", gone.id), "owner", "b:1", "fence", 2)
    await a.gate.open()
    await until(lambda: gone.ended == "moved")
    await until(lambda: _equals(link.call("TYPE", link.key("session", bad.id)), b"hash"))
    assert bad.ended is None


async def test_a_damaged_rate_is_a_full_or_an_empty_bucket(nodes: Ground, link: RedisLink) -> None:
    rate = Rate(10, 3600.0)
    a = await nodes.node("a", lease=30.0)
    assert await SharedAllowances(a.nodes).take("token:a", rate) == 0
    (name,) = await link.call("KEYS", "longwire:rate:*")
    for value in (None, b"", b"junk", b"nan", b"-1e300", b"1e300", b"\xff"):
        await link.call("DEL", name)
        await (link.call("LPUSH", name, "x") if value is None else link.call("SET", name, value))
        waits = [await SharedAllowances(a.nodes).take("token:a", rate) for _ in range(20)]
        assert waits.count(0) == (0 if value == b"1e300" else 10)
        assert all(math.isfinite(wait) and wait <= 3600 for wait in waits)
        assert 0 < await link.call("PTTL", name) <= 3_600_001
    assert a.link.healthy


@pytest.mark.parametrize(
    "entry",
    [None, (b"x", b"y"), (b"s", b"\xff", b"m", b"1"), (b"s", b"", b"m", b'{"a'), (b"s", b"", b"m", b"\xff")],
)
async def test_a_damaged_notification_is_left_out_and_the_next_ones_come(
    nodes: Ground, link: RedisLink, entry: tuple[bytes, ...] | None, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await b.begin()
    for _ in range(2):
        if entry is None:
            await link.call("DEL", STREAM)
            await link.call("SET", STREAM, "x")
            await until(lambda: _equals(link.call("EXISTS", STREAM), 0))
        else:
            await link.call("XADD", STREAM, "*", *entry)
    said: list[str] = []
    await a.notifications.notify(session.id, [b"2"], said.append)
    await until(lambda: said == ["queued"])
    await until(lambda: session.pending == 1)
    assert len(told(caplog, "notifications_damaged")) in (1, 2)  # once for each node
