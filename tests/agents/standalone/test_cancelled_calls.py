"""Calls of long tools that their client gives up: what the server keeps of them."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.server.context import ServerRequestContext
from mcp_types import JSONRPCRequest

from acuity.agents.tools.long_tool import long_tool
from acuity.jobs.dispatch import Entry
from acuity.jobs.job import JobSpec
from acuity.jobs.progress import Forwarder
from acuity.jobs.service import Jobs, JobsConfig
from acuity.jobs.worker.worker_process import WorkerProcess
from longwire.endpoints import Http
from longwire.product.catalog import Call, Catalog
from longwire.wire.http.request import Request
from raw_http import RawSession, call, raw_session
from transport_bench import LOCAL, Bench, Running, serving

WATCHED = (Entry, Forwarder, WorkerProcess, Call, ServerRequestContext, JSONRPCRequest, Request)
PADDING = "x" * 100_000
ROUNDS, WAITING = 10, 5
# A worker for the next call, what was read last, and requests: of every connection that is kept alive, and of
# some event streams that have ended.
KEPT = Counter(WorkerProcess=1, JSONRPCRequest=1, Request=3 + 16)


class LongTool(Bench):
    """A long tool whose job holds until it is stopped."""

    def __init__(self, jobs: Jobs) -> None:
        super().__init__()
        self.jobs = jobs

    def catalog(self) -> Catalog:
        async def plan(_: Mapping[str, Any]) -> JobSpec:
            return JobSpec("hold", {}, "hold", "hold it")

        services: Any = SimpleNamespace(jobs=self.jobs)
        schema = {"type": "object", "properties": {}}
        tool = long_tool(
            services,
            name="hold",
            title="Hold",
            description="Holds.",
            input_schema=schema,
            output_schema=None,
            plan=plan,
        )
        return Catalog(tools=[tool])


@pytest.fixture(autouse=True)
def _workers_find_our_task(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2] / "jobs"
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    _BEFORE.extend(found for found in gc.get_objects() if type(found) in WATCHED)
    yield
    _BEFORE.clear()
    gc.enable()


_BEFORE: list[Any] = []  # what other tests of this process have left, kept so that no other has its address


@asynccontextmanager
async def long_calls(endpoint: Any) -> AsyncIterator[tuple[Running, Jobs]]:
    config = JobsConfig(
        workers=1, queue=8, time_limit=60, kept=5, data=None, warm=(), extra_tasks={"hold": "job_tasks:hold"}
    )
    async with Jobs(config) as jobs, serving(endpoint, bench=LongTool(jobs)) as server:
        yield server, jobs


def live() -> Counter[str]:
    known = {id(found) for found in _BEFORE}
    return Counter(
        type(found).__name__
        for found in gc.get_objects()
        if type(found) in WATCHED and id(found) not in known
    )


async def until_only(expected: Counter[str]) -> None:
    with anyio.move_on_after(20) as waited:
        while live() - expected:
            await anyio.sleep(0.01)
    assert not waited.cancelled_caught, f"left over: {live() - expected}"


async def until_busy(jobs: Jobs, queued: int) -> None:
    while (jobs.stats().running, jobs.stats().queued) != (1, queued):
        await anyio.sleep(0.01)


def request(number: int) -> dict[str, Any]:
    message = call(number, "hold")
    message["params"]["_meta"] = {"progressToken": number, "padding": PADDING}
    return message


def cancellation(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


async def cancelled_posts(session: RawSession, jobs: Jobs, first: int) -> None:
    """A running call and some behind it, all cancelled."""
    numbers = range(first, first + 1 + WAITING)
    async with anyio.create_task_group() as tasks:
        for queued, number in enumerate(numbers):
            tasks.start_soon(session.post, request(number))
            await until_busy(jobs, queued)
        for number in reversed(numbers):
            assert (await session.post(cancellation(number))).status_code == 202


async def test_a_call_cancelled_in_a_session_leaves_nothing() -> None:
    async with long_calls(Http(LOCAL)) as (server, jobs), raw_session(server.where) as session:
        await cancelled_posts(session, jobs, 1)
        await until_only(KEPT)
        for number in range(ROUNDS):
            await cancelled_posts(session, jobs, 100 * (number + 1))
        await until_only(KEPT)
        assert jobs.stats().cancelled == (ROUNDS + 1) * (WAITING + 1)
