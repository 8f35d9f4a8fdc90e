"""The whole server, asked by the official client on every transport and in both eras of the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from product_server import LONG, SECONDS, TRANSPORTS, ProductServer, everywhere, raw_pair, stdio
from tool_results import conforming
from waiting import until

ERAS = ["legacy", "2026-07-28"]
EVERYWHERE = pytest.mark.parametrize("transport", TRANSPORTS)
BOTH_ERAS = pytest.mark.parametrize("era", ERAS)
Question = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("product")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ProductServer]:
    with everywhere(folder, by=subprocess.Popen) as running:
        yield running


@pytest.fixture
def ask(folder: Path, server: ProductServer, transport: str, era: str) -> Callable[[Question], Any]:
    """Connect, ask, and give the answer."""

    async def main(question: Question) -> Any:
        with anyio.fail_after(SECONDS):
            client = stdio(folder, era) if transport == "stdio" else server.client(transport, era)
            async with client:
                return await question(client)

    return lambda question: anyio.run(main, question)


@EVERYWHERE
@BOTH_ERAS
def test_tools_answer_as_their_schemas_say(ask: Callable[[Question], Any]) -> None:
    async def question(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        lists = ("list_videos", "list_models", "list_backends", "list_extractors", "list_jobs")
        given = {"describe_model": {"name": "vmaf_v0.6.1"}, "probe_backend": {"backend": "cpu"}}
        for name in (*lists, "vmaf_version", *given):
            result = await client.call_tool(name, given.get(name, {}))
            assert not result.is_error, result
            conforming(result, tools[name])

    ask(question)


@pytest.mark.parametrize(("transport", "era"), [("http", "2026-07-28"), ("stdio", "legacy")])
def test_jobs_outlive_their_client(ask: Callable[[Question], Any], folder: Path) -> None:
    arguments = raw_pair(folder, 20)
    submitted = ask(
        lambda client: client.call_tool("submit_job", {"tool": "vmaf_score", "arguments": arguments})
    )
    job_id = submitted.structured_content["job_id"]

    async def finished(client: Client) -> Any:
        found = (await client.call_tool("get_job", {"job_id": job_id})).structured_content
        return found if found["status"] not in ("queued", "running") else None

    found = ask(lambda client: until(lambda: finished(client)))
    # A server of one client ends with it; a job that it began is marked, never lost.
    assert found["status"] in ("completed", "interrupted")
    if found["status"] == "completed":
        report = ask(lambda client: client.read_resource(f"acuity://reports/{job_id}"))
        assert json.loads(report.contents[0].text)["frames"] == found["result"]["frames"]


@pytest.mark.parametrize(("transport", "era"), [("http", "2026-07-28"), ("uds", "legacy")])
async def test_cancelling_frees_the_worker(
    server: ProductServer, folder: Path, transport: str, era: str
) -> None:
    """The queue has two places: three calls that would take minutes, cancelled, leave room for a fourth."""
    long = raw_pair(folder, LONG)
    started = anyio.Event()

    async def listen(done: float, total: float | None, message: str | None) -> None:
        if done:
            started.set()

    with anyio.fail_after(SECONDS):
        async with server.client(transport, era) as client:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(lambda: client.call_tool("vmaf_score", long, progress_callback=listen))
                await started.wait()
                tasks.cancel_scope.cancel()
            short = await client.call_tool("vmaf_score", raw_pair(folder, 3))
            assert not short.is_error
            running = await client.call_tool("list_jobs", {"status_filter": ["running", "queued"]})
            assert running.structured_content["jobs"] == []


async def test_metrics_count_what_was_done(server: ProductServer, folder: Path) -> None:
    async with server.client("http", "2026-07-28") as client:
        await client.call_tool("vmaf_score", raw_pair(folder, 3))
        await client.call_tool("vmaf_score", {})
    with urllib.request.urlopen(server.where("metrics").where) as response:
        text = response.read().decode()
    counted = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    for name in (
        'acuity_mcp_calls_total{outcome="ok",tool="vmaf_score"}',
        'acuity_mcp_calls_total{outcome="error",tool="vmaf_score"}',
        'acuity_jobs_finished_total{status="completed"}',
        "acuity_jobs_workers",
    ):
        assert float(counted[name]) >= 1, name


LATER = ["av", "jsonschema", "onnxruntime", "pandas", "scipy", "redis", "sigstore"]
PROGRAM = f"""
import sys
import acuity.cli.serve
import acuity.agents.standalone.main
print(*(name for name in {LATER} if name in sys.modules))
"""


def test_a_server_listens_before_it_loads_what_some_calls_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
