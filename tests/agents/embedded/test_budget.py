"""Readers have a share of the time while frames are measured; who asks for more waits, nobody else does."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.server.context import ServerRequestContext
from mcp_types import JSONRPCRequest

from acuity.agents.embedded.assembly import Pacing
from acuity.agents.embedded.budget import PAYER, SHARE, TOLERATED, Budget
from endpoint_bench import Measured, call
from longwire.principals.limits import CONNECTION
from longwire.product.app import build_server
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Handshake

WAKING = 0.0001  # seconds of CPU time for each wait, as it is about


class Time:
    """A clock that goes on while somebody works or sleeps, and CPU time that goes on with work alone."""

    def __init__(self, core: float = 1.0, until: float = math.inf) -> None:
        """`core` is how much of a core the measuring thread gets; it measures until then."""
        self.now = 1000.0
        self.cpu = 5.0
        self.running = True
        self.until = until
        self.slept = 0
        self.core = core
        self.budget = Budget(
            lambda: self.running,
            clock=lambda: self.now,
            worked=lambda: self.now * self.core + self.cpu,
            used=lambda: self.cpu,
            sleep=self._sleep,
        )

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.cpu += seconds

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        self.work(WAKING)
        self.running &= self.now <= self.until

    async def ask(self, client: str, cost: float) -> float:
        """Have something answered that costs so much; how long the client waited for it."""
        PAYER.set(client)
        begin = self.now
        await self.budget.turn()
        waited = self.now - begin
        self.work(cost)
        return waited

    async def a_minute_of(self, client: str, cost: float, *, leaving: bool = False) -> tuple[float, float]:
        """Have a client ask all the time; the CPU time it took, and the seconds that passed."""
        begin, before = self.now, self.cpu
        for number in itertools.takewhile(lambda _: self.now < begin + 60, itertools.count(1)):
            name = client.format(number)
            if leaving:
                self.budget.enter(name)
            await self.ask(name, cost)
            if leaving:
                self.budget.leave(name)
        return self.cpu - before, self.now - begin


@pytest.mark.parametrize("cost", [0.00006, 0.001, 0.012, 0.2])
async def test_a_client_in_a_loop_has_its_share_and_no_more(cost: float) -> None:
    spent, seconds = await Time().a_minute_of("greedy", cost)
    assert spent <= SHARE * seconds + TOLERATED + cost
    assert spent >= 0.8 * SHARE * seconds - cost  # it is let in as soon as it may


@pytest.mark.parametrize(("core", "fair"), [(16.0, 1.0), (1.0, 1.0), (0.7, 0.7), (0.0, 0.5)])
async def test_on_a_busy_machine_the_share_is_one_of_what_measuring_gets(core: float, fair: float) -> None:
    """More threads than one don't make Python's lock any wider; one that waits for pictures isn't slowed."""
    spent, seconds = await Time(core).a_minute_of("greedy", 0.001)
    assert 0.8 * SHARE * fair < spent / seconds < 1.1 * SHARE * fair


async def test_who_asks_little_never_waits_whatever_others_do() -> None:
    time = Time()
    for _ in range(50):
        await time.ask("greedy", 0.05)
        assert await time.ask("calm", 0.0001) == 0.0
        time.now += 0.01


@pytest.mark.parametrize("each", [100, 1000])
async def test_polling_the_status_fits_into_the_share(each: int) -> None:
    """At 60 microseconds a call, as they are."""
    time = Time()
    for _ in range(5 * each):
        assert await time.ask("poller", 0.00006) == 0.0
        time.now += 1 / each - 0.00006
    assert time.slept == 0


@pytest.mark.parametrize("name", ["uds:{}", "same"])
async def test_connecting_again_makes_no_debts_go_away(name: str) -> None:
    spent, seconds = await Time().a_minute_of(name, 0.05, leaving=True)
    assert spent <= SHARE * seconds + TOLERATED + 0.05


async def test_while_nothing_is_measured_nobody_waits() -> None:
    time = Time()
    time.running = False
    for _ in range(100):
        assert await time.ask("greedy", 0.05) == 0.0
    time.running = True
    assert await time.ask("greedy", 0.05) == 0.0  # what was asked then is not held against it


async def test_nobody_waits_longer_than_a_client_has_patience() -> None:
    """Whatever an answer took, if only because libraries were loaded for it."""
    time = Time()
    await time.ask("first", 5.0)
    assert 2.0 < await time.ask("first", 0.001) < 4.0


async def test_who_waits_is_let_go_when_the_measurement_pauses_or_ends() -> None:
    time = Time(until=1001)
    await time.ask("greedy", 0.2)  # to be paid off in almost three seconds
    await time.ask("greedy", 0.001)
    assert 1001 < time.now < 1002


def _context(method: str, **params: Any) -> ServerRequestContext[Any, Any]:
    found = SimpleNamespace(method=method, params=params, request_id=1, request=None)
    return cast("ServerRequestContext[Any, Any]", found)


@pytest.mark.parametrize(
    ("context", "waits"),
    [
        (_context("tools/call", name="vmaf.pause"), False),
        (_context("tools/call", name="vmaf.report"), True),
        (_context("resources/read", uri="acuity://measurement/report"), True),
        (_context("tools/list"), True),
        (_context("ping"), False),
        (_context("subscriptions/listen"), False),
    ],
)
@pytest.mark.parametrize("client", ["uds:1", "post:127.0.0.1:50001"])
async def test_steering_never_waits(
    context: ServerRequestContext[Any, Any], waits: bool, client: str
) -> None:
    time = Time()
    pacing = Pacing(time.budget, frozenset({"vmaf.pause"}))
    CONNECTION.set(client)

    async def work(_: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        time.work(0.1)
        return {}

    await pacing(_context("tools/call", name="vmaf.report"), work)
    # Another connection of somebody who posts has the same account.
    CONNECTION.set(client.replace("50001", "50002"))
    assert await pacing(context, work) == {}
    assert bool(time.slept) is waits


def test_quick_answers_are_for_those_who_are_even() -> None:
    time, bench = Time(), Measured()
    server = build_server(bench.catalog(), name="bench", version="1")
    quick = QuickAnswers(server, {"vmaf.status": bench.quick_status}, time.budget.admits)
    question = JSONRPCRequest(**call(1, "vmaf.status"))
    greedy, calm = Handshake(client="greedy"), Handshake(client="calm")
    assert quick.answer(question, greedy) is not None
    time.work(0.1)
    assert quick.answer(question, greedy) is None
    assert quick.answer(question, calm) is not None
    time.now += 0.1 / SHARE * 2  # both pay
    assert quick.answer(question, greedy) is not None
