"""Job tools, resources and change notifications over the real job service and the real scoring tools."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import numpy as np
import pytest
from mcp import Client
from mcp.shared.subscriptions import ResourceUpdated

from acuity.access.paths import AllowedPaths
from acuity.agents.score_answers import score_answer
from acuity.agents.settings import AcuitySettings
from acuity.agents.tools import scoring
from acuity.agents.tools.services import Services
from acuity.cli.vmaf import main as vmaf
from acuity.jobs.service import Jobs, JobsConfig
from fake_jobs import serve
from product_server import asked
from tool_results import sentence_of

WIDTH, HEIGHT, FRAMES = 48, 32, 6


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ref.yuv, and dis.yuv that is a little worse."""
    folder = tmp_path_factory.mktemp("clips")
    noise = np.random.default_rng(3)
    field = noise.integers(40, 210, (HEIGHT + FRAMES, WIDTH + FRAMES))
    for name, off in (("ref.yuv", 0), ("dis.yuv", 12)):
        with (folder / name).open("wb") as file:
            for n in range(FRAMES):
                luma = field[n : n + HEIGHT, n : n + WIDTH] + noise.integers(-off, off + 1, (HEIGHT, WIDTH))
                file.write(luma.astype(np.uint8).tobytes() + bytes([128]) * (WIDTH * HEIGHT // 2))
    return folder


@dataclass
class Bench:
    """A server over real jobs, and a client of it."""

    jobs: Jobs
    client: Client
    schemas: dict[str, Any]

    async def ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        document = await asked(self.client, name, arguments)
        jsonschema.validate(document, self.schemas[name], jsonschema.Draft202012Validator)
        return document

    async def read(self, uri: str) -> str:
        (content,) = (await self.client.read_resource(uri)).contents
        return content.text


@asynccontextmanager
async def bench(clips: Path, data: Path) -> AsyncIterator[Bench]:
    config = JobsConfig(workers=1, queue=8, time_limit=60, kept=10, data=data)
    async with Jobs(config) as jobs:
        services = Services(AcuitySettings(data=data), AllowedPaths([clips]), jobs)
        tools = scoring.tools(services)
        async with Client(serve(jobs, tools), mode="2026-07-28") as client:
            listed = (await client.list_tools()).tools
            schemas = {tool.name: tool.output_schema for tool in listed}
            schemas |= {tool.name: tool.output_schema for tool in tools}
            yield Bench(jobs, client, schemas)


def score_of(clips: Path, **more: Any) -> dict[str, Any]:
    geometry = {"width": WIDTH, "height": HEIGHT, "pixfmt": "420", "bitdepth": 8}
    return {"ref": str(clips / "ref.yuv"), "dis": str(clips / "dis.yuv"), **geometry, **more}


@pytest.mark.parametrize("precision", ["legacy", "max"])
async def test_a_submitted_score_becomes_a_report(clips: Path, tmp_path: Path, precision: str) -> None:
    output = tmp_path / "report.csv"
    size = ["-w", str(WIDTH), "-h", str(HEIGHT), "-p", "420", "-b", "8"]
    files = ["-r", str(clips / "ref.yuv"), "-d", str(clips / "dis.yuv"), "-o", str(output)]
    assert vmaf([*files, *size, "--csv", "-q", "--precision", precision]) == 0
    async with bench(clips, tmp_path / "data") as at:
        with anyio.fail_after(60):
            arguments = score_of(clips, precision=precision)
            job = await at.ask("submit_job", tool="vmaf_score", arguments=arguments)
            uri = f"acuity://reports/{job['job_id']}"
            async with at.client.listen(resource_subscriptions=[uri]) as changes:
                # It may be over already: then nothing is left to be told.
                if (await at.ask("get_job", job_id=job["job_id"]))["status"] != "completed":
                    assert await anext(changes) == ResourceUpdated(uri)
            done = await at.ask("get_job", job_id=job["job_id"])
            assert (done["status"], done["report"], done["error"]) == ("completed", uri, None)
            assert done["title"] == "dis.yuv against ref.yuv"
            assert done["progress"]["done"] == FRAMES
            assert len(done["result"]["frames"]) == FRAMES
            jsonschema.validate(done["result"], at.schemas["vmaf_score"])
            assert score_answer(json.loads(await at.read(uri))) == done["result"]
            assert await at.read(f"{uri}.csv") == output.read_text()
            listed = await at.ask("list_jobs", status_filter=["completed"])
            assert [entry["job_id"] for entry in listed["jobs"]] == [job["job_id"]]
            assert (await at.ask("cancel_job", job_id=job["job_id"]))["status"] == "completed"
            rows = (await at.ask("get_frames", job_id=job["job_id"]))["rows"]
            scores = [frame["metrics"]["vmaf"] for frame in done["result"]["frames"]]
            assert rows == [[number, score] for number, score in enumerate(scores)]


async def test_a_job_that_can_not_be_done(clips: Path, tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with bench(clips, tmp_path) as at:
            asked = {"tool": "vmaf_score", "arguments": score_of(clips, ref="/etc/passwd")}
            sentence = sentence_of(await at.client.call_tool("submit_job", asked))
            assert sentence == "path /etc/passwd not under an allowlisted root; set VMAF_MCP_ALLOW to extend."
            wrong = score_of(clips, height=HEIGHT * 1000)
            job = await at.ask("submit_job", tool="vmaf_score", arguments=wrong)
            await at.jobs.wait(job["job_id"])
            failed = await at.ask("get_job", job_id=job["job_id"])
            assert failed["status"] == "failed"
            assert "ref.yuv" in failed["error"]
            assert (failed["result"], failed["report"]) == (None, None)
