"""Jobs behind two method workers: one number of scores at once, and each job known to both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from product_server import LONG, ProductServer, asked, product_server, raw_pair
from waiting import until

_CALLS = 8  # at once: so many that both workers have some


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProductServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with product_server(
        folder, "--http", "0", "--method-workers", "2", "--workers", "1", "--grace", "0"
    ) as running:
        for label in ("w1", "w2"):
            running.line(
                lambda line, label=label: (line.get("event"), line.get("worker")) == ("worker_ready", label)
            )
        yield running


async def _at_once(client: Client, tool: str, *many: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to calls that are in flight together, in the order of the calls."""
    answers: dict[int, dict[str, Any]] = {}

    async def one(number: int, arguments: dict[str, Any]) -> None:
        answers[number] = await asked(client, tool, arguments)

    async with anyio.create_task_group() as tasks:
        for number, arguments in enumerate(many):
            tasks.start_soon(one, number, arguments)
    return [answers[number] for number in range(len(many))]


async def test_every_worker_knows_every_job(server: ProductServer) -> None:
    pair = raw_pair(server.folder, LONG)
    async with server.client("http", "2026-07-28") as client:
        work = {"tool": "vmaf_score", "arguments": pair}
        jobs = [job["job_id"] for job in await _at_once(client, "submit_job", *[work] * 4)]

        async def once_one_runs() -> list[dict[str, Any]] | None:
            seen = await _at_once(client, "get_job", *[{"job_id": job} for job in jobs * 2])
            return seen if any(job["progress"] for job in seen) else None

        seen = await until(once_one_runs)
        assert len({job["job_id"] for job in seen if job["status"] == "running"}) == 1  # --workers: of both
        waiting = {job["job_id"]: job["queue_position"] for job in seen if job["status"] == "queued"}
        assert sorted(waiting.values()) == [1, 2, 3]
        ended = await _at_once(client, "cancel_job", *[{"job_id": job} for job in jobs])
        assert {job["status"] for job in ended} == {"cancelled"}
        for listed in await _at_once(client, "list_jobs", *[{"status_filter": ["cancelled"]}] * _CALLS):
            assert {job["job_id"] for job in listed["jobs"]} == set(jobs)


async def test_a_report_is_read_from_every_worker(server: ProductServer) -> None:
    pair = raw_pair(server.folder, 4)
    async with server.client("http", "legacy") as client:
        score = await asked(client, "vmaf_score", pair)
        uri = score["report"]
        job = {"job_id": score["job_id"]}
        for found in await _at_once(client, "get_job", *[job] * _CALLS):
            assert found["result"]["score"] == score["score"]
        texts: list[str] = []

        async def read() -> None:
            texts.append((await client.read_resource(uri)).contents[0].text)

        async with anyio.create_task_group() as tasks:
            for _ in range(_CALLS):
                tasks.start_soon(read)
        assert len(texts) == _CALLS
        assert len(set(texts)) == 1
