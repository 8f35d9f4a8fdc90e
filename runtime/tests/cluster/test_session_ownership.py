"""Sessions that move between nodes: found, taken over by one, released; nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import json
import time
from types import SimpleNamespace

import pytest

from cluster_ground import ALICE, CLIENT, Ground, lease_ended, listening
from fake_responder import FakeResponder
from longwire.cluster.nodes import NodeStatus
from longwire.cluster.redis_link import RedisLink
from longwire.errors import ClusterUnavailable
from longwire.sessions.session import LOST_CALL
from redis_server import needs_redis
from waiting import until

pytestmark = needs_redis


async def test_other_nodes_find_the_owner(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await a.begin()
    here = NodeStatus("a", True, a.nodes.address, a.nodes.incarnation)
    assert await a.ownership.find(session.id) == here
    assert await b.ownership.find(session.id) == here
    with pytest.raises(ClusterUnavailable, match="'a' has this session and lives"):
        await b.ownership.take_over(session.id, here)
    assert session.ended is None
    for unknown in (f"a-{'0' * 32}", "b", "", "ä" * 200, f"a-{'0' * 32}\n", "*"):
        assert await b.ownership.find(unknown) is None
    a.sessions.delete(session.id, ALICE)
    await a.stored()
    assert await b.ownership.find(session.id) is None
    assert await a.ownership.find(session.id) is None


async def test_a_session_goes_on_at_another_node_when_its_owner_is_killed(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await a.begin()
    session.mark_initialized()
    session.set_state("log_level", "debug")
    call, get = FakeResponder(), FakeResponder()
    stream = session.log.open_request_stream(7)
    stream.prime()
    stream.attach(call)
    stream.add(b'"progress"', "notification")
    waits = session.log.open_get_stream()
    waits.prime()
    waits.attach(get)
    session.log.notify(b'"news"')
    await until(lambda: get.messages and call.messages)
    await a.kill()
    found = await b.ownership.find(session.id)
    again = await b.ownership.take_over(session.id, found)
    assert (again.principal, again.client, again.initialized) == (ALICE, CLIENT, True)
    assert again.state == {"log_level": "debug"}
    assert again.log.resume("999-1") is None
    resumed = await b.resume(session.id, call.events[0].id)
    await until(lambda: resumed.ended)
    progress, lost = [json.loads(text) for text in resumed.messages]
    assert progress == "progress"
    assert (lost["id"], lost["error"]["message"]) == (7, LOST_CALL)
    again.log.notify(b'"more"')
    later = await b.resume(session.id, get.last_id)
    await until(lambda: later.messages == ['"more"'])
    assert b.counters.sessions_resumed == b.counters.calls_lost == 1


async def test_exactly_one_node_takes_a_session_over(nodes: Ground) -> None:
    a, *others = [await nodes.node(label) for label in ("a", "b", "c", "d")]
    session = await a.begin()
    await a.kill()
    found = NodeStatus("a", True, a.nodes.address, a.nodes.incarnation)
    # Each node is asked several times at once.
    asked = [other.ownership.take_over(session.id, found) for other in others for _ in range(3)]
    taken = [got for got in await asyncio.gather(*asked) if got is not None]
    assert len(taken) == 3
    assert len(set(map(id, taken))) == 1
    assert sum(session.id in other.sessions for other in others) == 1


async def test_released_sessions_are_taken_over_at_once(nodes: Ground) -> None:
    a, b = await nodes.node("a", lease=60.0), await nodes.node("b")
    session, get = await a.begin(), FakeResponder()
    session.log.open_get_stream().attach(get)
    session.log.notify(b"1")
    await a.ownership.release_all()
    assert get.ended
    assert session.ended == "stopped"
    found = await b.ownership.find(session.id)
    assert not found.alive
    began = time.monotonic()
    assert await b.ownership.take_over(session.id, found) is not None
    assert time.monotonic() - began < 10.0
    with pytest.raises(ClusterUnavailable, match="this node stops"):
        await a.ownership.take_over(session.id, found)


async def test_an_owner_that_comes_back_writes_nothing_and_closes_its_streams(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session, get = await listening(a)
    a.gate.shut()  # like a pause: the process lives, and nobody knows
    await lease_ended(b, "a")
    again = await b.reach(session.id)
    again.log.notify(b'"from b"')
    await b.stored()
    await a.gate.open()
    await until(lambda: session.ended == "moved")
    assert get.ended
    session.log.notify(b'"late"')
    await a.stored()
    assert a.counters.sessions_moved == 1
    assert session.id not in a.sessions
    resumed = await b.resume(session.id, get.last_id)
    await until(lambda: resumed.messages)
    assert resumed.messages == ['"from b"']
    await b.ownership.release_all()
    third = await a.reach(session.id)  # it can come back to its first node
    third.log.notify(b'"2"')
    again = await a.resume(session.id, get.last_id)
    await until(lambda: again.messages == ['"from b"', '"2"'])


async def test_what_was_refused_is_not_sent(nodes: Ground) -> None:
    """The fence alone, while both nodes have their leases."""
    a, b = await nodes.node("a"), await nodes.node("b")
    session, get = await listening(a)
    key = b.link.key("session", session.id)
    await b.link.call("HSET", key, "owner", b.nodes.owner, "fence", 2)
    session.log.notify(b'"late"')
    await until(lambda: session.ended == "moved")
    assert get.messages == []
    assert get.ended


async def test_a_client_that_saw_what_could_not_be_stored_misses_nothing_later(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session, get = await listening(a)
    a.gate.shut()
    for number in range(5):
        session.log.notify(b"%d" % number)
    await until(lambda: len(get.messages) == 5)  # from memory
    await lease_ended(b, "a")
    again = await b.reach(session.id)
    again.log.notify(b'"new"')
    resumed = await b.resume(session.id, get.last_id)
    await until(lambda: resumed.messages == ['"new"'])


async def test_the_time_of_an_unused_session_goes_on(nodes: Ground) -> None:
    a = await nodes.node("a", ttl=60.0)
    session = await a.begin()
    key = a.link.key("session", session.id)
    left = await a.link.call("PTTL", key)
    assert 60_000 < left <= 72_000
    await a.kill()
    b = await nodes.node("b", ttl=60.0)
    await b.link.call("PEXPIRE", key, left - 30_000)
    await lease_ended(b, "a")
    found = await b.ownership.find(session.id)
    again = await b.ownership.take_over(session.id, found)
    assert 28 < b.sessions.clock() - again.last_seen < 45
    assert b.sessions.find(session.id, "token:eve") is None
    assert b.sessions.clock() - again.last_seen > 28  # that was no use
    assert b.sessions.find(session.id, ALICE) is again
    await until(lambda: again.last_seen > b.sessions.clock() - 5)


async def test_there_may_be_no_room_at_the_other_node(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b", max_sessions=1)
    session, other = await a.begin(), await b.begin()
    responder = FakeResponder()
    other.log.open_get_stream().attach(responder)
    other.begin_call(1, SimpleNamespace(is_attended=True, cancel=lambda reason: None))  # its client waits
    await a.kill()
    await lease_ended(b, "a")
    with pytest.raises(ClusterUnavailable, match="no room"):
        await b.reach(session.id)
    other.end("deleted")
    assert await b.reach(session.id) is not None


async def test_a_take_over_whose_answer_got_lost_is_finished_later(nodes: Ground, link: RedisLink) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await a.begin()
    session.log.notify(b"1")
    await a.stored()
    await a.kill()
    await lease_ended(b, "a")
    found = await b.ownership.find(session.id)
    assert await b.ownership.take_over(f"a-{'0' * 32}", found) is None  # Redis knows the script
    key = b.link.key("session", session.id)
    b.gate.mute()  # Redis hears b, and b doesn't hear Redis
    taking = asyncio.create_task(b.ownership.take_over(session.id, found))

    async def is_taken() -> bool:
        return bool((await link.call("HGET", key, "owner")).decode() == b.nodes.owner)

    await until(is_taken)
    with pytest.raises(ClusterUnavailable):
        await taking
    b.gate.shut()
    await b.gate.open()
    await until(lambda: b.nodes.holds_lease)
    again = await b.reach(session.id)
    get = FakeResponder()
    again.log.open_get_stream().attach(get)
    await until(lambda: get.messages == ["1"])


async def test_clocks_of_nodes_may_differ_by_minutes(nodes: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = time.time
    monkeypatch.setattr(time, "time", lambda: truth() - 600)
    a = await nodes.node("a", ttl=60.0)
    session = await a.begin()
    session.log.notify(b"1")
    await a.stored()
    monkeypatch.setattr(time, "time", lambda: truth() + 600)
    b = await nodes.node("b", ttl=60.0)
    await a.kill()
    await lease_ended(b, "a")
    again = await b.reach(session.id)
    assert again is not None  # by the clock of a it would have ended long ago
    assert abs(again.created - b.sessions.clock()) < 30
    assert abs(again.record().created - truth()) < 30
    c = await nodes.node("c", ttl=60.0)
    found = NodeStatus("b", True, b.nodes.address, b.nodes.incarnation)
    assert await c.ownership.find(session.id) == found
