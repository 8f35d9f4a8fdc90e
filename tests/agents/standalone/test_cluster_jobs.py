"""Two nodes of the product over a real Redis: jobs, tasks and reports of one from the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client

pytest.importorskip("redis", reason="the extra 'cluster' is not installed")

from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import standalone_server
from longwire.cluster.cluster_node import joined
from longwire.declared import Served
from product_server import asked, raw_pair
from redis_server import needs_redis, redis_server
from task_client import MODERN, PATIENCE, TaskClient, ask, begin

pytestmark = needs_redis


@asynccontextmanager
async def _node(url: str, label: str, folder: Path) -> AsyncIterator[Served]:
    secret = folder / "secret"
    if not secret.exists():
        secret.write_text("s" * 40)
        secret.chmod(0o600)
    settings = AcuitySettings(
        data=folder / label,
        allow=(str(folder),),
        workers=1,
        cluster_redis=url,
        cluster_node=label,
        cluster_address="http://127.0.0.1:1",
        cluster_secret_file=secret,
    )
    async with joined(settings) as cluster, standalone_server(settings, cluster) as made:
        yield made


async def test_jobs_tasks_and_reports_of_one_node_from_the_other(tmp_path: Path) -> None:
    pair = raw_pair(tmp_path, 4)
    async with asyncio.timeout(6 * PATIENCE), AsyncExitStack() as stack:
        url = stack.enter_context(redis_server()).url
        nodes = [await stack.enter_async_context(_node(url, label, tmp_path)) for label in "ab"]
        a, b = [
            await stack.enter_async_context(Client(node.server, mode=MODERN, extensions=[TaskClient()]))
            for node in nodes
        ]
        task = await begin(a, "vmaf_score", pair)
        assert task.task_id.startswith("a-")
        assert (await ask(b, "tasks/get", task.task_id))["taskId"] == task.task_id  # known at once
        await nodes[1].jobs.wait(task.task_id)
        found = await ask(b, "tasks/get", task.task_id)
        assert not found["result"]["isError"]
        job = await asked(b, "get_job", {"job_id": task.task_id})
        there = await asked(a, "get_job", {"job_id": task.task_id})
        assert job["result"]["score"] == there["result"]["score"]
        listed = (await asked(b, "list_jobs", {}))["jobs"]
        assert [entry["job_id"] for entry in listed] == [task.task_id]
        report = await b.read_resource(job["report"])
        assert len(json.loads(report.contents[0].text)["frames"]) == 4
        resources = await b.list_resources()
        assert job["report"] in [str(resource.uri) for resource in resources.resources]
        again = await asked(b, "cancel_job", {"job_id": task.task_id})
        assert again["message"] == "nothing to cancel: it is completed already"
