"""Tasks of the product: a score as a task over HTTP, and the same score called plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from acuity.agents.job_documents import JobTasks
from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import standalone_server
from scoring_clips import GEOMETRY, raw
from task_client import MODERN, TaskClient, ask, begin, until
from tool_results import sentence_of
from transport_bench import served, streamable_app

# What two runs of the same work don't have in common: names and times.
OWN = ("job_id", "report", "fps", "acuity")


@pytest.fixture
def score(tmp_path: Path) -> dict[str, Any]:
    ref, dis = raw(tmp_path / "ref.yuv"), raw(tmp_path / "dis.yuv", worse=True)
    return {"ref": str(ref), "dis": str(dis), **GEOMETRY}


async def test_a_score_is_the_same_as_a_task(tmp_path: Path, score: dict[str, Any]) -> None:
    async def compare(url: str, tasks: JobTasks) -> None:
        async with (
            Client(url, mode=MODERN, extensions=[TaskClient()]) as client,
            Client(url, mode=MODERN) as other,
        ):
            created = await begin(client, "vmaf_score", score)
            await until(tasks, created.task_id, "completed")
            result = (await ask(client, "tasks/get", created.task_id))["result"]
            plain = await other.call_tool("vmaf_score", score)
            assert not result["isError"]
            assert without_own(result["structuredContent"]) == without_own(plain.structured_content)
            assert result["structuredContent"]["job_id"] == created.task_id
            # What is wrong with the arguments is said at once, as a plain call says it.
            wrong = {**score, "dis": "/etc/passwd"}
            assert sentence_of(await client.call_tool("vmaf_score", wrong)) == sentence_of(
                await other.call_tool("vmaf_score", wrong)
            )
            with pytest.raises(MCPError, match="extension"):
                await ask(other, "tasks/get", created.task_id)

    settings = AcuitySettings(data=tmp_path / "data", allow=(str(tmp_path),), workers=1)
    async with standalone_server(settings) as made:
        app = streamable_app(made.server, settings.wire_limits())
        async with served(app) as endpoint:
            await compare(f"http://{endpoint.address}/mcp", JobTasks(made.jobs))


def test_a_task_outlives_the_server(tmp_path: Path, score: dict[str, Any]) -> None:
    settings = AcuitySettings(data=tmp_path / "data", allow=(str(tmp_path),), workers=1)

    async def before() -> str:
        async with (
            standalone_server(settings) as made,
            Client(made.server, mode=MODERN, extensions=[TaskClient()]) as client,
        ):
            created = await begin(client, "vmaf_score", score)
            await until(JobTasks(made.jobs), created.task_id, "completed")
            return created.task_id

    async def after(task_id: str) -> dict[str, Any]:
        async with (
            standalone_server(settings) as made,
            Client(made.server, mode=MODERN, extensions=[TaskClient()]) as client,
        ):
            return await ask(client, "tasks/get", task_id)

    task = anyio.run(after, anyio.run(before))
    assert task["status"] == "completed"
    assert task["result"]["structuredContent"]["pooled_metrics"]["vmaf"]["mean"] < 100


def without_own(document: Any) -> dict[str, Any]:
    assert set(OWN) <= document.keys()
    return {key: value for key, value in document.items() if key not in OWN}
