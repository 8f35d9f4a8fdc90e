"""Redis gone, paused, restarted with and without its data: local sessions go on, and all heals by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cluster_ground import LONG, Ground, Node, ground, lease_ended, lease_forgotten, listening
from fake_responder import FakeResponder
from longwire.cluster.nodes import NodeStatus
from longwire.cluster.redis_link import RedisLink
from longwire.errors import ClusterUnavailable
from redis_server import RedisServer, needs_redis, redis_server
from waiting import until

pytestmark = needs_redis


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """Keeps what it has on disk."""
    with redis_server(append_only=True) as running:
        yield running


async def say(node: Node, session_id: str, *texts: str) -> None:
    session = node.sessions.get(session_id)
    for text in texts:
        session.log.notify(text.encode())
    await node.stored()


async def healed(*nodes: Node) -> None:
    """Wait until nodes have their leases and what they stored meanwhile."""
    await until(lambda: all(node.link.healthy and node.nodes.holds_lease for node in nodes))


async def has_events(node: Node, session_id: str, count: int) -> None:
    """Wait until Redis has so many events of a session."""

    async def are_there() -> bool:
        return bool(await node.link.call("XLEN", node.link.key("events", session_id)) == count)

    await until(are_there)


async def test_a_restart_with_the_data(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with ground(server.socket) as nodes:
        a, b = await nodes.node("a"), await nodes.node("b")
        session, get = await listening(a)
        await say(a, session.id, "1", "2")
        server.kill()
        await say(a, session.id, "3", "4")
        await until(lambda: get.messages == ["1", "2", "3", "4"])  # goes on from memory
        born = await a.begin()
        with pytest.raises(ClusterUnavailable):
            await b.ownership.find(session.id)
        server.start()
        await healed(a, b)
        await has_events(a, session.id, 5)
        assert (await b.ownership.find(born.id)).alive
        await a.kill()
        await lease_ended(b, "a")
        resumed = await b.resume(session.id, get.events[0].id)
        await until(lambda: resumed.messages == ["1", "2", "3", "4"])
        assert a.counters.sessions_moved == 0
    warned = [entry for entry in caplog.records if entry.__dict__.get("event") == "journal_failure"]
    assert len(warned) <= 2  # one of a node; a is killed later


async def test_a_restart_without_the_data(nodes: Ground, server: RedisServer) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session, get = await listening(a)
    call = FakeResponder()
    stream = session.log.open_request_stream("call")
    stream.prime()
    stream.attach(call)
    await say(a, session.id, "1", "2")
    server.kill()
    server.forget()
    server.start()

    async def is_stored_again() -> bool:
        with suppress(ClusterUnavailable):  # nobody says that it doesn't exist
            assert await b.ownership.find(session.id) is not None
            return bool(await b.link.call("XLEN", b.link.key("events", session.id)) == 4)
        return False

    await until(is_stored_again)
    await healed(a, b)
    await say(a, session.id, "3")
    await a.kill()
    await lease_ended(b, "a")
    resumed = await b.resume(session.id, get.events[0].id)
    await until(lambda: resumed.messages == ["1", "2", "3"])
    again = await b.resume(session.id, call.events[0].id)
    await until(lambda: again.ended)  # with an error: the call died with its node


async def test_a_single_session_that_redis_lost_is_stored_again(nodes: Ground) -> None:
    a = await nodes.node("a")
    session, _ = await listening(a)
    await say(a, session.id, "1")
    await a.link.call("DEL", a.link.key("session", session.id), a.link.key("events", session.id))
    await say(a, session.id, "2")
    await has_events(a, session.id, 3)


async def test_redis_is_paused_for_longer_than_leases_last(nodes: Ground, server: RedisServer) -> None:
    a, b = await nodes.node("a", lease=LONG), await nodes.node("b", lease=LONG)
    session, get = await listening(a)
    server.pause()
    await until(lambda: not (a.nodes.holds_lease or b.nodes.holds_lease or b.link.healthy))
    await say(a, session.id, "1")
    await until(lambda: get.messages == ["1"])
    found = NodeStatus("a", True, a.nodes.address, a.nodes.incarnation)
    with pytest.raises(ClusterUnavailable):
        await b.ownership.take_over(session.id, found)
    server.go_on()
    await until(lambda: b.link.healthy)
    # All leases have ended meanwhile, but their nodes live.
    with pytest.raises(ClusterUnavailable):
        await b.ownership.take_over(session.id, found)
    await healed(a, b)
    await has_events(a, session.id, 2)
    assert session.ended is None
    assert session.id not in b.sessions


async def test_nobody_is_dead_because_redis_was_gone(nodes: Ground, link: RedisLink) -> None:
    a, b = await nodes.node("a", lease=LONG), await nodes.node("b", lease=LONG)
    session, _ = await listening(a)
    a.gate.shut()
    b.gate.shut()
    for label in "ab":
        await lease_forgotten(link, label)
    await b.gate.open()
    await until(lambda: b.link.healthy)
    found = await b.ownership.find(session.id)
    assert not found.alive
    taking = asyncio.create_task(b.ownership.take_over(session.id, found))
    await asyncio.sleep(0)  # Redis answers a a little later
    await a.gate.open()
    with pytest.raises(ClusterUnavailable):
        await taking
    assert session.id in a.sessions
    assert session.id not in b.sessions


@pytest.mark.parametrize("old_first", [False, True])
async def test_the_newest_owner_wins_where_redis_forgot_who_it_was(nodes: Ground, old_first: bool) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session, _ = await listening(a)
    a.gate.shut()
    await lease_ended(b, "a")
    assert await b.reach(session.id) is not None
    await say(b, session.id, "1")
    await b.link.call("FLUSHALL")
    if old_first:
        b.gate.shut()
        await a.gate.open()
        await has_events(a, session.id, 1)  # of the old owner, who knows no better
        await b.gate.open()
    else:
        await has_events(b, session.id, 2)
        await a.gate.open()
    await until(lambda: session.ended == "moved")
    await has_events(b, session.id, 2)
    assert session.id in b.sessions


async def test_a_session_that_ended_elsewhere_is_not_made_again(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session, get = await listening(a)
    a.gate.shut()
    await until(lambda: not a.nodes.holds_lease)
    await lease_ended(b, "a")
    again = await b.reach(session.id)
    again.end("deleted")
    await b.stored()
    session.created -= 60  # it is an old one
    session.log.notify(b"1")
    await a.gate.open()
    await until(lambda: session.ended == "moved")
    assert get.ended
    assert await b.ownership.find(session.id) is None
