"""Whose jobs and reports a client sees, and what long work of one leaves for others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from product_server import LONG, product_on_http, raw_pair
from task_client import MODERN, TaskClient, ask
from tool_results import document_of
from transport_bench import ERAS

ALICE, BOB = "alice-correct-horse", "bob-battery-staple"
TOKENS = Access(Tokens({ALICE: "alice", BOB: "bob"}))


@asynccontextmanager
async def client(url: str, era: str, token: str | None = None) -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    extensions = [TaskClient()] if era == MODERN else []
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, extensions=extensions) as found,
    ):
        yield found


async def document(asker: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    return document_of(await asker.call_tool(name, arguments))


async def finished(asker: Client, score: dict[str, Any]) -> str:
    """The id of a job of this client that has completed."""
    job = await document(asker, "submit_job", tool="vmaf_score", arguments=score)
    while (job := await document(asker, "get_job", job_id=job["job_id"]))["status"] != "completed":
        assert job["status"] in ("queued", "running")
    return job["job_id"]


async def listed(asker: Client) -> Sequence[str]:
    """The jobs that a client is told of, by every way there is to list them."""
    jobs = [job["job_id"] for job in (await document(asker, "list_jobs"))["jobs"]]
    resources = [found.name for found in (await asker.list_resources()).resources if "/reports/" in found.uri]
    index = (await asker.read_resource("acuity://reports")).contents[0]
    reference = types.ResourceTemplateReference(type="ref/resource", uri="acuity://reports/{id}{?frames}")
    completed = await asker.complete(reference, {"name": "id", "value": ""})
    assert set(resources) == set(completed.completion.values) == set(jobs)
    assert all(job_id in index.text for job_id in jobs)
    return jobs


@pytest.mark.parametrize("era", ERAS)
async def test_a_principal_sees_and_stops_its_own_jobs_alone(tmp_path: Path, era: str) -> None:
    score, long = raw_pair(tmp_path, 2), raw_pair(tmp_path, LONG)
    async with (
        product_on_http(tmp_path, TOKENS) as url,
        client(url, era, ALICE) as alice,
        client(url, era, BOB) as bob,
    ):
        hers, his = await finished(alice, score), await finished(bob, score)
        assert (await listed(alice), await listed(bob)) == ([hers], [his])
        known = "list_jobs shows those that are known; old ones are forgotten"
        for tool in ("get_job", "cancel_job"):
            found = await document(bob, tool, job_id=hers)
            assert found == {"error": f"there is no job '{hers}': {known}"}
        frames = await document(bob, "get_frames", job_id=hers)
        assert frames["error"].startswith(f"there is no report '{hers}'")
        assert (await document(alice, "get_frames", job_id=hers))["count"] == 2
        for form in ("", ".csv", "?frames=0-1"):
            with pytest.raises(MCPError, match=f"there is no report '{hers}'"):
                await bob.read_resource(f"acuity://reports/{hers}{form}")
        assert (await alice.read_resource(f"acuity://reports/{hers}")).contents
        running = (await document(alice, "submit_job", tool="vmaf_score", arguments=long))["job_id"]
        assert "there is no job" in (await document(bob, "cancel_job", job_id=running))["error"]
        if era == MODERN:
            for method in ("tasks/get", "tasks/cancel"):
                with pytest.raises(MCPError, match="no task"):
                    await ask(bob, method, running)
            assert (await ask(alice, "tasks/get", hers))["status"] == "completed"
        assert (await document(alice, "cancel_job", job_id=running))["status"] == "cancelled"


@pytest.mark.parametrize("era", ERAS)
async def test_without_tokens_jobs_are_everybodys(tmp_path: Path, era: str) -> None:
    score, long = raw_pair(tmp_path, 2), raw_pair(tmp_path, LONG)
    async with product_on_http(tmp_path) as url, client(url, era) as one, client(url, era) as other:
        done = await finished(one, score)
        assert await listed(other) == [done]
        running = (await document(one, "submit_job", tool="vmaf_score", arguments=long))["job_id"]
        assert (await document(other, "cancel_job", job_id=running))["status"] == "cancelled"


async def test_a_short_score_ends_while_another_clients_long_jobs_run(tmp_path: Path) -> None:
    short, long = raw_pair(tmp_path, 2), raw_pair(tmp_path, LONG)
    async with (
        product_on_http(tmp_path, TOKENS) as url,
        client(url, "legacy", ALICE) as alice,
        client(url, "legacy", BOB) as bob,
    ):
        for _ in range(3):
            await document(bob, "submit_job", tool="vmaf_score", arguments=long)
        with anyio.fail_after(60):
            await finished(alice, short)
            assert "score" in await document(alice, "vmaf_score", **short)
        jobs = (await document(bob, "list_jobs"))["jobs"]
        assert sorted(job["status"] for job in jobs) == ["queued", "queued", "running"]


async def test_one_client_cannot_fill_the_queue(tmp_path: Path) -> None:
    long = {"tool": "vmaf_score", "arguments": raw_pair(tmp_path, LONG)}
    async with (
        product_on_http(tmp_path, TOKENS) as url,
        client(url, MODERN, ALICE) as alice,
        client(url, MODERN, BOB) as bob,
    ):
        answers = [await document(alice, "submit_job", **long) for _ in range(60)]
        # One runs, 48 are three quarters of the queue.
        assert len([answer for answer in answers if "job_id" in answer]) == 49
        assert "your share of the queue is full (48 waiting)" in answers[-1]["error"]
        assert (await document(bob, "submit_job", **long))["status"] == "queued"
