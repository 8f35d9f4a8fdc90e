"""Jobs of several nodes over a real Redis: found, followed, cancelled from each; dead nodes; Redis gone."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import JobCancelled, JobError
from acuity.jobs.node_jobs import NodeJobs
from acuity.jobs.service import Jobs
from job_helpers import PATIENCE, Changes, Heard, Running, config, spec
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.work import Job
from prepared_programs import Program
from redis_server import COMMAND_WAIT, RedisServer, needs_redis, redis_server
from waiting import until

pytestmark = needs_redis


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


@asynccontextmanager
async def _node(
    server: RedisServer, label: str, folder: Path, **limits: Any
) -> AsyncIterator[tuple[Jobs, RedisLink]]:
    async with (
        open_redis(server.url, label, wait=COMMAND_WAIT) as link,
        Jobs(config(data=folder / label), NodeJobs(link, **limits)) as jobs,
    ):
        yield jobs, link


@asynccontextmanager
async def _nodes(server: RedisServer, folder: Path) -> AsyncIterator[tuple[Jobs, Jobs]]:
    async with _node(server, "a", folder) as (a, _), _node(server, "b", folder) as (b, _):
        yield a, b


async def _known(jobs: Jobs, id: str, status: str) -> Job:
    """The job, once another node has told that it has this status."""

    async def told() -> Job | None:
        job = await jobs.get(id)
        return job if job is not None and job.status == status else None

    return await until(told)


async def test_a_job_is_found_from_the_other_node(server: RedisServer, tmp_path: Path) -> None:
    async with _nodes(server, tmp_path) as (a, b):
        outcome = await a.run(spec("echo", word="hi"), client="me")
        assert outcome.id.startswith("a-")
        job = await _known(b, outcome.id, "completed")
        assert job == await a.get(outcome.id)
        assert await b.result(job.id) == outcome.document
        own = await b.submit(spec("echo"), client="you")
        await b.wait(own.id)
        assert [found.id for found in (await b.list())[0]] == [own.id, job.id]
        assert [found.id for found in (await b.list(client="me"))[0]] == [job.id]
        assert await b.list(["running"]) == ([], False)
        assert await b.list(limit=1) == ([await b.get(own.id)], True)
        assert await b.get("a-unknown") is None
        with pytest.raises(JobError, match="there is no job 'a-unknown'"):
            await b.wait("a-unknown")


async def test_a_job_is_followed_and_cancelled_from_the_other_node(
    server: RedisServer, tmp_path: Path
) -> None:
    async with _nodes(server, tmp_path) as (a, b):
        changes = Changes()
        b.on_change(changes, everywhere=True)
        running = Running(a, spec("hold"))
        await running.holding()
        ((job,), _) = await a.list()
        await changes.until(job.id, "running")
        heard = Heard()
        waiting = asyncio.ensure_future(b.wait(job.id, progress=heard))
        assert (await heard.until("holding")).total == 2.0
        cancelled = await b.cancel(job.id)
        assert (cancelled.status, cancelled.error) == ("cancelled", "'hold it' was cancelled")
        assert await waiting == cancelled
        assert isinstance(await running.outcome(), JobCancelled)
        await changes.until(job.id, "cancelled")
        assert await b.cancel(job.id) == cancelled  # harmless when repeated


async def test_the_jobs_of_a_dead_node_are_interrupted(server: RedisServer, tmp_path: Path) -> None:
    program = [sys.executable, str(Path(__file__).with_name("node_program.py")), server.url, str(tmp_path)]
    async with _node(server, "b", tmp_path, beat=0.2, alive=0.6) as (b, _):
        changes = Changes()
        b.on_change(changes, everywhere=True)
        with Program(program, stdin=subprocess.PIPE) as node:
            id = await asyncio.wait_for(changes.any("running"), PATIENCE)
            waiting = asyncio.ensure_future(b.wait(id))
            await changes.until(id, "running")
            node.kill()
        found = await asyncio.wait_for(waiting, PATIENCE)
        assert found.status == "interrupted"
        assert found.error == "the node 'a' ended while this job was waiting or running: submit it again"
        await changes.until(id, "interrupted")


async def test_without_redis_a_node_has_its_own_jobs(server: RedisServer, tmp_path: Path) -> None:
    async with _node(server, "a", tmp_path) as (a, _), _node(server, "b", tmp_path) as (b, link):
        theirs = await a.run(spec("echo"), client="me")
        await _known(b, theirs.id, "completed")
        held = await b.submit(spec("hold"), client="me")
        server.kill()
        for ask in (b.get, b.result, b.wait, b.cancel):
            with pytest.raises(JobError, match=f"job '{theirs.id}' is another node's: the nodes' shared st"):
                await ask(theirs.id)
        mine = await b.run(spec("echo", word="mine"), client="me")
        assert [job.id for job in (await b.list())[0]] == [mine.id, held.id]
        server.start()  # it has lost its memory
        assert (await _known(a, mine.id, "completed")).id == mine.id
        assert await a.result(mine.id) == mine.document
        assert (await _known(a, held.id, "running")).id == held.id
        assert link.healthy


async def test_a_result_that_is_too_long_stays_with_its_node(server: RedisServer, tmp_path: Path) -> None:
    async with (
        _node(server, "a", tmp_path, max_result=1000) as (a, _),
        _node(server, "b", tmp_path) as (b, _),
    ):
        outcome = await a.run(spec("echo", word="x" * 2000), client="me")
        await _known(b, outcome.id, "completed")
        with pytest.raises(JobError, match="and only the node that ran it has it"):
            await b.result(outcome.id)
        assert await a.result(outcome.id) == outcome.document


async def test_nodes_with_one_data_folder_need_no_redis(server: RedisServer, tmp_path: Path) -> None:
    async with (
        open_redis(server.url, "a", wait=COMMAND_WAIT) as first,
        open_redis(server.url, "b", wait=COMMAND_WAIT) as second,
    ):
        shared = config(data=tmp_path)
        async with Jobs(shared, NodeJobs(first)) as a, Jobs(shared, NodeJobs(second)) as b:
            outcome = await a.run(spec("echo", word="hi"), client="me")
            held = await a.submit(spec("hold"), client="me")
            assert [job.id for job in (await b.list())[0]] == [held.id, outcome.id]
            server.kill()
            assert await b.result(outcome.id) == outcome.document
            assert (await b.cancel(held.id)).status == "cancelled"


async def test_what_others_write_to_redis_disturbs_nobody(
    server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = {"id": 7, "tool": "t", "title": "t", "client": "c", "status": "queued", "created": "now"}
    text = json.dumps({**odd, "progress": None, "process": "p"}).encode()
    async with _nodes(server, tmp_path) as (a, b), open_redis(server.url, "c", wait=COMMAND_WAIT) as other:
        await other.call("SET", other.key("job", "c-1"), b'{"id": "c-1"}')
        await other.call("SET", other.key("job", "c-3"), text)
        await other.call("SET", other.key("job", "c-4"), b"[" * 100_000)
        await other.call("LPUSH", other.key("job", "c-5"), "x")
        await other.call("SET", other.key("result", "c-5"), "x")
        for number in range(1, 6):
            await other.call("ZADD", other.key("jobs"), number, f"c-{number}")
        await other.call("ZADD", other.key("jobs"), 9, b"\xff")
        for payload in (b"\xff", b"[]", b"{}", text, b"[" * 100_000):
            other.publish("jobs", payload)
            other.publish("job-cancels", payload)
        outcome = await a.run(spec("echo"), client="me")
        await _known(b, outcome.id, "completed")
        assert await b.get("c-1") is None
        assert [job.id for job in (await b.list())[0]] == [outcome.id]
        with pytest.raises(JobError, match="is damaged"):
            await NodeJobs(other).document("c-5")
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in told] == ["a job of another node can't be read"] * 2  # nodes
