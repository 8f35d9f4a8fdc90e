"""Limits of requests in flight, and rates, with a clock that the tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError

from fake_responder import FakeClock
from longwire.errors import SettingsError
from longwire.principals.limits import BUSY, CONNECTION, STOPPING, CallLimits
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.principals.rates import Allowances, Rate, RateLimits, parse_rate, whole_seconds
from longwire.settings import Settings


class Calls:
    """Calls that end when they are told to."""

    def __init__(self, limits: CallLimits, tasks: anyio.abc.TaskGroup) -> None:
        self._limits = limits
        self._tasks = tasks
        self.end = anyio.Event()

    async def begin(self, client: str, method: str = "tools/call", request_id: int | None = 1) -> None:
        """Return once the handler runs; raises what the limits raise."""
        running = anyio.Event()
        failed: list[MCPError] = []

        async def handler(_: Any) -> HandlerResult:
            running.set()
            await self.end.wait()
            return {}

        async def call() -> None:
            CONNECTION.set(client)
            context: Any = SimpleNamespace(request_id=request_id, method=method, request=None, params=None)
            try:
                await self._limits(context, handler)
            except MCPError as error:
                failed.append(error)
                running.set()

        self._tasks.start_soon(call)
        await running.wait()
        if failed:
            raise failed[0]


@asynccontextmanager
async def with_calls(settings: Settings) -> AsyncIterator[tuple[CallLimits, Calls]]:
    limits = CallLimits(settings)
    async with anyio.create_task_group() as tasks:
        calls = Calls(limits, tasks)
        yield limits, calls
        calls.end.set()
    assert limits.in_flight == 0
    await limits.idle()


async def test_one_client_cannot_take_every_place_and_pings_always_pass() -> None:
    async with with_calls(Settings(calls=5, calls_each=3)) as (limits, calls):
        for client in "aaabc":
            await calls.begin(client)
        for client, sentence in (
            ("a", r"3 requests of this client are in flight.*wait for one"),
            ("d", "5 requests are in flight, which is the most"),
        ):
            with pytest.raises(MCPError, match=sentence) as refused:
                await calls.begin(client)
            assert refused.value.error.code == BUSY
            await calls.begin(client, "ping")
            await calls.begin(client, "notifications/cancelled", request_id=None)
        assert limits.in_flight == 5


async def test_a_place_is_free_again_however_a_call_ends() -> None:
    limits = CallLimits(Settings(calls=1))
    context: Any = SimpleNamespace(request_id=1, method="tools/call", request=None, params=None)

    async def fail(_: Any) -> HandlerResult:
        raise KeyError("broken")

    async def wait(_: Any) -> HandlerResult:
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()

    for _ in range(3):
        with pytest.raises(KeyError):
            await limits(context, fail)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(limits, context, wait)
    assert limits.in_flight == 0


async def test_requests_faster_than_the_rate_are_told_when_to_come_again() -> None:
    async with with_calls(Settings(rate=parse_rate("2/min"))) as (limits, calls):
        for _ in range(2):
            await calls.begin("a")
        with pytest.raises(MCPError, match=r"^requests .* faster than 2/min, .* in 30 s$") as refused:
            await calls.begin("a")
        assert refused.value.error.code == BUSY
        assert refused.value.error.data == {"retryAfter": 30}
        await calls.begin("a", "ping")
        await calls.begin("a", "notifications/cancelled", request_id=None)
        await calls.begin("b")
        assert limits.in_flight == 3
        assert limits.refused == {"rate": 1}


async def test_a_token_may_have_a_rate_of_its_own() -> None:
    async with with_calls(Settings(rate=parse_rate("2/min"))) as (_, calls):
        before = PRINCIPAL.set(Principal.of_token("alice", rate=parse_rate("3/min")))
        try:
            for _ in range(3):
                await calls.begin("a")
            with pytest.raises(MCPError, match="try again in 20 s"):
                await calls.begin("a")
        finally:
            PRINCIPAL.reset(before)


async def test_a_server_that_stops_takes_no_more_and_waits_for_what_ends() -> None:
    async with with_calls(Settings()) as (limits, calls):
        await calls.begin("a", "subscriptions/listen")
        await limits.idle()  # that one never ends by itself
        await calls.begin("a")
        limits.stop()
        with pytest.raises(MCPError, match="the server is stopping") as refused:
            await calls.begin("b")
        assert refused.value.error.code == STOPPING
        with anyio.move_on_after(0) as waited:
            await limits.idle()
        assert waited.cancelled_caught


MINUTE = parse_rate("60/min")
TWO = parse_rate("2/min")


def calling(tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments}


@pytest.mark.parametrize(
    ("text", "rate", "shown"),
    [
        ("60/min", Rate(60, 60.0), "60/min"),
        ("1/s", Rate(1, 1.0), "1/s"),
        ("10 / second", Rate(10, 1.0), "10/s"),
        ("5/h", Rate(5, 3600.0), "5/hour"),
        ("100/day", Rate(100, 86400.0), "100/day"),
    ],
)
def test_rates_are_written_as_people_say_them(text: str, rate: Rate, shown: str) -> None:
    assert parse_rate(text) == rate
    assert str(rate) == shown
    assert parse_rate(shown) == rate


@pytest.mark.parametrize(
    "text",
    ["", "60", "/min", "0/min", "-1/min", "1.5/s", "60/week", "٦/min", "9999999/s", "6/min\n", 60, None],
)
def test_what_is_no_rate(text: object) -> None:
    with pytest.raises(SettingsError, match="is no rate: write a number and s, min, hour or day, such as"):
        parse_rate(text)


def test_a_full_allowance_is_the_number_of_its_rate() -> None:
    clock = FakeClock(1_000_000.0)
    limits = RateLimits(MINUTE, clock=clock)
    assert [limits.check("alice") for _ in range(60)] == [None] * 60
    assert limits.check("alice").seconds == pytest.approx(1.0)
    assert limits.check("bob") is None  # has one of his own
    clock.now += 0.75
    assert limits.check("alice").seconds == pytest.approx(0.25)
    clock.now += 0.25
    assert limits.check("alice") is None
    assert limits.check("alice") is not None
    clock.now += 3600
    assert [limits.check("alice") for _ in range(61)].count(None) == 60


def test_a_tool_has_an_allowance_of_its_own() -> None:
    limits = RateLimits(MINUTE, {"score": TWO}, clock=FakeClock(1_000_000.0))
    assert [limits.check("alice", params=calling("score")) for _ in range(2)] == [None, None]
    assert limits.check("alice", params=calling("score")).seconds == pytest.approx(30.0)
    # 58 are left of the principal's own: the refused call took none.
    assert [limits.check("alice", params=calling("list")) for _ in range(59)].count(None) == 58
    assert limits.check("bob", params=calling("score")) is None


def test_the_rate_that_was_hit_is_named() -> None:
    limits = RateLimits(TWO, {"sco*": parse_rate("1/min")}, clock=FakeClock(1_000_000.0))
    assert limits.check("alice", params=calling("score")) is None
    assert limits.check("alice", params=calling("score")) == (60.0, parse_rate("1/min"), "sco*")
    assert limits.check("alice", params=calling("list")) is None
    assert limits.check("alice", params=calling("list")) == (30.0, TWO, None)


def test_tools_that_fit_one_pattern_share_an_allowance() -> None:
    limits = RateLimits(None, {"run_*": TWO, "run_search": MINUTE}, clock=FakeClock(1_000_000.0))
    assert limits.check("alice", params=calling("run_ladder")) is None
    assert limits.check("alice", params=calling("run_compare")) is None
    assert limits.check("alice", params=calling("run_anything")) is not None
    assert limits.check("alice", params=calling("run_search")) is None  # its own entry comes first
    assert limits.check("alice", params=calling("list_models")) is None


def test_a_tool_that_runs_another_is_held_to_both() -> None:
    limits = RateLimits(None, {"score": TWO}, carriers={"submit_job": "tool"}, clock=FakeClock(1_000_000.0))
    assert limits.check("alice", params=calling("submit_job", tool="score")) is None
    assert limits.check("alice", params=calling("score")) is None
    assert limits.check("alice", params=calling("submit_job", tool="score")) is not None
    assert limits.check("alice", params=calling("submit_job", tool="other")) is None


@pytest.mark.parametrize(
    "params",
    [{}, {"name": 7}, {"name": ["score"]}, {"name": "submit_job"}, {"name": "submit_job", "arguments": [1]}],
)
def test_calls_that_make_no_sense_are_left_to_the_server(params: dict[str, Any]) -> None:
    limits = RateLimits(None, {"score": TWO}, carriers={"submit_job": "tool"})
    assert limits.check("alice", params=params) is None


def test_a_principals_own_rate_replaces_the_servers() -> None:
    limits = RateLimits(TWO, clock=FakeClock(1_000_000.0))
    assert [limits.check("alice", MINUTE) for _ in range(61)].count(None) == 60
    # Another rate, as after a change of the token file, begins with a full allowance.
    assert limits.check("alice", parse_rate("1/day")) is None
    assert limits.check("alice", parse_rate("1/day")).seconds == pytest.approx(86400.0)


def test_allowances_are_bounded_in_number() -> None:
    allowances = Allowances(FakeClock(1_000_000.0), most=100)
    for number in range(1000):
        allowances.take(number, TWO)
        allowances.take("regular", TWO)
    assert len(allowances) == 100
    assert allowances.wait("regular", TWO) == pytest.approx(30.0)
    assert allowances.wait(0, TWO) == 0


@given(st.lists(st.floats(0, 20), max_size=200), st.integers(1, 30))
def test_never_more_than_the_rate_and_one_burst(pauses: list[float], number: int) -> None:
    clock, rate = FakeClock(1_000_000.0), Rate(number, 60.0)
    limits = RateLimits(rate, clock=clock)
    passed = 0
    for pause in pauses:
        clock.now += pause
        passed += limits.check("alice") is None
    assert passed <= number + sum(pauses) * number / 60 + 1e-6


def test_a_principal_has_a_rate_that_no_agent_reaches_unless_another_is_set() -> None:
    limits = RateLimits(Settings().rate, clock=FakeClock(1_000_000.0))
    assert all(limits.check("alice") is None for _ in range(1000))
    over = limits.check("alice")
    assert str(over.rate) == "1000/s"
    assert limits.check("bob") is None


async def test_the_default_rate_is_not_asked_for_elsewhere() -> None:
    limits, nowhere = RateLimits(Settings().rate, clock=FakeClock(1_000_000.0)), None
    passed = [await limits.check_shared(nowhere, "alice", None, None) is None for _ in range(1001)]
    assert passed == [True] * 1000 + [False]


def test_retry_after_is_rounded_up() -> None:
    assert [whole_seconds(wait) for wait in (0.01, 1.0, 1.2, 59.9)] == [1, 1, 2, 60]
