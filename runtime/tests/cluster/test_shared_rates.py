"""Rates over several nodes: together they let through what one would."""

from __future__ import annotations

import asyncio

from cluster_ground import Ground
from longwire.cluster.shared_rates import SharedAllowances
from longwire.dispatch.dispatcher import continued
from longwire.principals.rates import Rate, RateLimits
from redis_server import needs_redis
from waiting import until

pytestmark = needs_redis
RATE = Rate(60, 3600.0)  # one more each minute: none while a test runs


async def _through(allowances: SharedAllowances, holder: str, tries: int) -> int:
    return sum([await allowances.take(holder, RATE) == 0 for _ in range(tries)])


async def test_two_nodes_let_through_what_one_would(nodes: Ground) -> None:
    made = [SharedAllowances((await nodes.node(label)).nodes) for label in ("a", "b")]
    found = await asyncio.gather(*(_through(one, "token:a", 100) for one in made))
    assert 55 <= sum(found) <= 60  # shares that are not spent yet are at most a twentieth each
    assert 0 < await made[0].take("token:a", RATE) <= 60
    assert await _through(made[0], "token:b", 5) == 5, "another principal has its own"


async def test_a_call_that_begins_outside_of_a_task_is_counted(nodes: Ground) -> None:
    """As those of workers do, until they have to wait for something."""
    shared = SharedAllowances((await nodes.node("e")).nodes)
    loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def begin() -> None:
        work = shared.take("token:e", RATE)
        task = loop.create_task(continued(work, work.send(None)))
        task.add_done_callback(lambda done: answer.set_result(done.exception() or done.result()))

    loop.call_soon(begin)
    assert await answer == 0


async def test_without_redis_each_node_has_its_part(nodes: Ground) -> None:
    await nodes.node("b", lease=30.0)
    a = await nodes.node("a", lease=30.0)
    assert a.nodes.living == 2
    a.gate.shut()
    assert await _through(SharedAllowances(a.nodes), "token:c", 100) == 30


async def test_requests_that_nobody_waits_for_are_counted_together(nodes: Ground) -> None:
    rates, rate = RateLimits(), Rate(10, 3600.0)
    shared = [SharedAllowances((await nodes.node(label)).nodes) for label in ("f", "g")]
    for number in range(10):
        assert rates.charge(shared[number % 2], "token:f", rate) is None
    # Told by Redis: until then more are let through, which count as well.
    await until(lambda: all(rates.charge(one, "token:f", rate) for one in shared))
    over = await rates.check_shared(shared[0], "token:f", rate, None)
    assert over.seconds <= 360


async def test_a_refused_request_takes_nothing(nodes: Ground) -> None:
    shared = SharedAllowances((await nodes.node("c")).nodes)
    rates = RateLimits(RATE, {"slow": Rate(1, 3600.0)})

    async def check(tool: str) -> bool:
        return await rates.check_shared(shared, "token:d", None, {"name": tool}) is None

    assert await check("slow")
    assert [await check("slow") for _ in range(50)] == [False] * 50
    assert [await check("quick") for _ in range(59)] == [True] * 59
    assert not await check("quick")
