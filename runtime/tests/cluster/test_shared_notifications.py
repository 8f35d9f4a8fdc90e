"""Notifications of one node's workers to sessions of all nodes: all arrive, in order, none twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from cluster_ground import ALICE, Ground, Node, lease_ended
from fake_responder import FakeResponder
from longwire.cluster.redis_link import RedisLink
from longwire.cluster.shared_notifications import LONGEST
from longwire.contract.envelopes import NotifyOutcome
from longwire.sessions.session import Session
from redis_server import needs_redis
from waiting import SOON, until

pytestmark = needs_redis


def _note(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%d}}' % number


async def tell(node: Node, session_id: str | None, *payloads: bytes) -> NotifyOutcome:
    answer: asyncio.Future[NotifyOutcome] = asyncio.get_running_loop().create_future()
    await node.notifications.notify(session_id, list(payloads), answer.set_result)
    return await asyncio.wait_for(answer, SOON)


def opened(session: Session) -> Callable[[], list[int]]:
    """Open a stream of a session; what its client reads from it."""
    responder = FakeResponder()
    session.log.open_get_stream().attach(responder)
    return lambda: [json.loads(text)["params"]["data"] for text in responder.messages]


async def test_they_reach_a_session_of_another_node_in_order(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    here, there = await a.begin(), await b.begin()
    reads = opened(here), opened(there)
    assert await tell(a, here.id, _note(0)) == "delivered"
    assert await tell(a, there.id, _note(0)) == "queued"
    outcomes = [tell(a, None if number % 2 else there.id, _note(number)) for number in range(1, 200)]
    assert set(await asyncio.gather(*outcomes)) == {"delivered", "queued"}
    await until(lambda: len(reads[1]()) == 200)
    assert reads[1]() == list(range(200))
    assert reads[0]() == [0, *range(1, 200, 2)]


async def test_the_worker_learns_what_became_of_it(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    mine, other = await a.begin(), await b.begin()
    assert await tell(a, mine.id, _note(1)) == "queued"  # nobody reads
    assert await tell(a, f"b-{'0' * 32}", _note(1)) == "unknown"
    assert await tell(a, None, b" " * (LONGEST + 1)) == "failed"
    a.gate.shut()
    assert await tell(a, other.id, _note(1)) == "failed"
    assert await tell(a, None, _note(2)) == "failed"
    assert mine.pending == 3, "sessions of the worker's own node have it all the same"
    assert other.pending == 0


async def test_the_worker_is_told_when_redis_has_it(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await a.begin()
    outcomes = [tell(a, session.id, _note(number)) for number in range(20)]
    assert set(await asyncio.gather(*outcomes)) == {"queued"}
    await a.kill()
    await lease_ended(b, "a")
    moved = await b.reach(session.id)
    read = opened(moved)
    await until(lambda: len(read()) == 20)
    assert read() == list(range(20)), "none that the worker was answered about is gone"


async def test_a_session_that_moves_misses_none_and_has_none_twice(nodes: Ground) -> None:
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await a.begin()
    assert await tell(b, None, _note(1)) == "delivered"
    assert await tell(b, session.id, _note(2)) == "queued"
    await until(lambda: session.pending == 2)
    await a.stored()
    await a.kill()
    await lease_ended(b, "a")
    assert await tell(b, None, _note(3)) == "delivered"  # nobody has the session
    assert await tell(b, session.id, _note(4)) == "queued"
    c = await nodes.node("c")  # which was not there when these were sent
    for node, count in ((b, 4), (c, 5)):
        moved = await node.reach(session.id)
        await until(lambda moved=moved, count=count: moved.pending == count)  # type: ignore[misc]
        if node is b:
            assert await tell(b, None, _note(5)) == "delivered"
            await b.ownership.release_all()
    assert c.sessions.find(session.id, ALICE) is moved
    read = opened(moved)
    await until(lambda: len(read()) == 5)
    assert read() == [1, 2, 3, 4, 5]
    assert (await c.begin()).pending == 0, "a session that begins later has missed none"


async def test_a_notification_right_after_the_start_comes_though_the_clock_is_known_roughly(
    nodes: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = RedisLink.now
    monkeypatch.setattr(RedisLink, "now", lambda link: now(link) + 0.2)  # on a busy machine
    a, b = await nodes.node("a"), await nodes.node("b")
    session = await b.begin()
    assert await tell(a, session.id, _note(1)) == "queued"
    await until(lambda: session.pending == 1)
