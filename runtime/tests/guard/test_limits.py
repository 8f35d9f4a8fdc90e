"""Requests in flight, counted for each client and for all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError

from longwire.principals.limits import BUSY, CONNECTION, STOPPING, CallLimits
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.principals.rates import parse_rate
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


async def test_one_client_cannot_take_every_place() -> None:
    async with with_calls(Settings(calls=5, calls_each=3)) as (limits, calls):
        for _ in range(3):
            await calls.begin("a")
        with pytest.raises(
            MCPError, match=r"3 requests of this client are in flight.*wait for one"
        ) as refused:
            await calls.begin("a")
        assert refused.value.error.code == BUSY
        await calls.begin("b")
        assert limits.in_flight == 4


async def test_all_clients_together_have_a_limit() -> None:
    async with with_calls(Settings(calls=5, calls_each=3)) as (_, calls):
        for client in "abcde":
            await calls.begin(client)
        with pytest.raises(MCPError, match="5 requests are in flight, which is the most") as refused:
            await calls.begin("f")
        assert refused.value.error.code == BUSY


async def test_pings_and_notifications_always_pass() -> None:
    async with with_calls(Settings(calls=1, calls_each=1)) as (limits, calls):
        await calls.begin("a")
        for _ in range(3):
            await calls.begin("a", "ping")
            await calls.begin("a", "notifications/cancelled", request_id=None)
        assert limits.in_flight == 1


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
