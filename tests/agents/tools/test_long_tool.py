"""Tools whose work is a job, and progress as a client hears it."""

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
from acuity.agents.tools.long_tool import ProgressNotifications
from acuity.jobs.progress import JobOutcome, ProgressListener
from longwire.product.app import build_server
from longwire.product.catalog import Catalog, Tool
from longwire.work import JobSpec, Progress
from scoring_room import ERAS, services_for


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


def test_what_is_said_about_frames_travels_with_the_work(tmp_path: Path) -> None:
    tool = made(tmp_path, OneJob({}), "vmaf_score")
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


Sent = list[tuple[float, float | None, str | None]]


class Heard:
    """What was sent, by a clock that stands still unless told."""

    def __init__(self) -> None:
        self.sent: Sent = []
        self.times: list[float] = []
        self.time = 0.0
        self.notifications = ProgressNotifications(self._send, lambda: self.time)

    async def _send(self, value: float, total: float | None, message: str | None) -> None:
        self.sent.append((value, total, message))
        self.times.append(self.time)

    def tell(self, *told: tuple[float, float | None, str], apart: float) -> None:
        async def main() -> None:
            for done, total, message in told:
                await self.notifications.send(Progress(done, total, message))
                self.time += apart
            await self.notifications.finish()

        anyio.run(main)


def test_never_more_than_ten_a_second_and_the_last_one_always() -> None:
    heard = Heard()
    heard.tell(*[(n, 3000, f"{n}") for n in range(1, 3001)], apart=0.001)
    assert heard.sent[-1] == (3000, 3000, "3000")
    for start in heard.times:
        assert len([time for time in heard.times if start <= time < start + 1.0]) <= 10
    assert len(heard.sent) >= 20  # three seconds


def test_values_only_grow() -> None:
    heard = Heard()
    waiting = [(0, None, f"{n} ahead of it") for n in (3, 2, 1)]
    heard.tell(*waiting, (0, 48, "0 of 48 frames"), (1, 48, "1 of 48 frames"), apart=1.0)
    values = [value for value, _, _ in heard.sent]
    assert values == sorted(set(values))
    messages = [message for _, _, message in heard.sent]
    assert messages == [*(said for _, _, said in waiting), "0 of 48 frames", "1 of 48 frames"]
    assert values[-1] == 1


def test_nothing_new_is_nothing_said() -> None:
    heard = Heard()
    heard.tell((5, 5, "done"), (5, 5, "done"), (5, 5, "still done"), (4, 5, "back"), apart=1.0)
    assert heard.sent == [(5, 5, "done")]  # a value beyond the total would say more is wrong
