"""Tools whose work is a job."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from acuity.agents import tool_answers
from acuity.agents.tools import long_tool as long
from acuity.errors import JobFailed
from acuity.jobs.job import JobOutcome, JobSpec, Progress, ProgressListener
from longwire.product.app import build_server
from longwire.product.catalog import Catalog, Tool
from scoring_room import ERAS, services_for
from tool_results import sentence_of


class OneJob:
    """Answers every job in the same way, after some progress."""

    def __init__(self, document: dict[str, Any] | Exception) -> None:
        self.document = document
        self.asked: list[tuple[JobSpec, str]] = []

    async def run(self, spec: JobSpec, *, client: str, progress: ProgressListener) -> JobOutcome:
        self.asked.append((spec, client))
        await progress(Progress(0.0, None, "2 jobs ahead of it"))
        await progress(Progress(3.0, 4.0, "3 of 4"))
        if isinstance(self.document, Exception):
            raise self.document
        return JobOutcome("one", self.document)


async def plan(arguments: Mapping[str, Any]) -> JobSpec:
    return JobSpec("score", dict(arguments), "any", "a title")


def made(folder: Path, jobs: OneJob, name: str) -> Tool:
    return long.long_tool(
        services_for(folder, jobs),
        name=name,
        title="A title",
        description="A text",
        input_schema={"type": "object", "properties": {"size": {"type": "integer", "default": 7}}},
        output_schema=None,
        plan=plan,
    )


async def call(tool: Tool, era: str, told: list[tuple[float, str | None]]) -> Any:
    async def listen(done: float, _: float | None, message: str | None) -> None:
        told.append((done, message))

    server = build_server(Catalog(tools=[tool]), name="acuity", version="1")
    async with Client(server, mode=era) as client:
        return await client.call_tool(tool.name, {}, progress_callback=listen)


@pytest.mark.parametrize("era", ERAS)
def test_a_call_waits_for_its_job_and_hears_of_it(tmp_path: Path, era: str) -> None:
    jobs = OneJob({"value": 1})
    told: list[tuple[float, str | None]] = []
    result = anyio.run(call, made(tmp_path, jobs, "run_benchmark"), era, told)
    assert result.structured_content == {"value": 1}
    assert told == [(0, "2 jobs ahead of it"), (3, "3 of 4")]
    ((spec, client),) = jobs.asked
    assert spec.payload == {"size": 7}  # the default
    assert client


def test_scores_say_where_their_report_is(tmp_path: Path) -> None:
    result = anyio.run(call, made(tmp_path, OneJob({"value": 1}), "vmaf_score"), "legacy", [])
    assert result.structured_content == {"value": 1, "job_id": "one", "report": "acuity://reports/one"}


def test_what_the_job_says_is_the_error(tmp_path: Path) -> None:
    jobs = OneJob(JobFailed("'a.yuv' is empty"))
    result = anyio.run(call, made(tmp_path, jobs, "vmaf_score"), "legacy", [])
    assert sentence_of(result) == "'a.yuv' is empty"


def test_the_plan_is_there_for_jobs_and_tasks(tmp_path: Path) -> None:
    tool = made(tmp_path, OneJob({}), "vmaf_score")
    assert tool.plan is not None
    spec = anyio.run(tool.plan, {"size": 3})
    assert spec == anyio.run(plan, {"size": 3})


def test_what_is_said_about_frames_travels_with_the_work(tmp_path: Path) -> None:
    tool = made(tmp_path, OneJob({}), "vmaf_score")
    assert tool.plan is not None
    spec = anyio.run(tool.plan, {"size": 3, "include_frames": False})
    assert spec.payload["echo"] == {"include_frames": False}


def test_a_long_report_is_not_written_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[threading.Thread] = []

    def answer(document: dict[str, Any]) -> Any:
        where.append(threading.current_thread())
        return tool_answers.tool_answer(document)

    monkeypatch.setattr(long, "tool_answer", answer)
    frames = [{"frameNum": n, "metrics": {"vmaf": float("inf")}} for n in range(200)]
    document = {"frames": frames, "pooled_metrics": {}, "include_frames": True}
    result = anyio.run(call, made(tmp_path, OneJob(document), "vmaf_score"), "legacy", [])
    assert where
    assert threading.main_thread() not in where
    assert result.structured_content["frames"][199] == {"frameNum": 199, "metrics": {"vmaf": None}}
    assert result.structured_content["job_id"] == "one"
