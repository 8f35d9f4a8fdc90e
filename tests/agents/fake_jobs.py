"""A job service whose jobs end on the test's command, and a server with job tools and resources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

from acuity.access.paths import AllowedPaths
from acuity.agents.prompts.completions import completer
from acuity.agents.prompts.instructions import PROMPTS
from acuity.agents.resources import resources
from acuity.agents.schemas import record, text, whole
from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import publish_changes
from acuity.agents.tools import frames
from acuity.agents.tools.jobs import tools
from acuity.agents.tools.services import Services
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.work import Job, JobSpec, Progress, Status

START = 1_700_000_000.0  # 2023-11-14T22:13:20Z

REPORT: dict[str, Any] = {
    "score": 69.311728,
    "model": "vmaf_v0.6.1",
    "models": [{"name": "vmaf", "label": "vmaf_v0.6.1", "mean": 69.311728}],
    "version": "1",
    "fps": 100.0,
    "frames": [
        {"frameNum": 0, "metrics": {"integer_motion": 0.0, "vmaf": 91.123456}},
        {"frameNum": 1, "metrics": {"integer_motion": 0.0000001234567891, "vmaf": 47.5}},
        {"frameNum": 2, "metrics": {"vmaf": None}},
    ],
    "pooled_metrics": {"vmaf": {"min": 47.5, "max": 91.123456, "mean": 69.311728, "harmonic_mean": 62.0}},
    "aggregate_metrics": {},
    "backend_requested": "auto",
    "backend_used": "cpu",
}


class FakeJobs:
    """The interface of acuity.jobs.service.Jobs, as far as tools and resources use it."""

    def __init__(self) -> None:
        self.specs: dict[str, JobSpec] = {}
        self._jobs: dict[str, Job] = {}
        self._results: dict[str, dict[str, Any]] = {}
        self._listeners: list[Callable[[Job], None]] = []

    async def submit(self, spec: JobSpec, *, client: str) -> Job:
        number = len(self._jobs) + 1
        job = Job(
            f"job-{number}", spec.tool, spec.title, client, "queued", START + number, queue_position=number
        )
        self.specs[job.id] = spec
        return self._put(job)

    async def get(self, id: str) -> Job | None:
        return self._jobs.get(id)

    async def result(self, id: str) -> dict[str, Any] | None:
        return self._results.get(id)

    async def list(
        self, statuses: Collection[Status] = (), limit: int = 100, client: str | None = None
    ) -> tuple[list[Job], bool]:
        found = [
            job
            for job in reversed(self._jobs.values())
            if (not statuses or job.status in statuses) and client in (None, job.client)
        ]
        return found[:limit], len(found) > limit

    async def cancel(self, id: str) -> Job | None:
        job = self._jobs.get(id)
        return job if job is None or job.over else self.end(id, "cancelled")

    def on_change(self, listener: Callable[[Job], None], *, everywhere: bool = False) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def run(self, id: str, progress: Progress | None = None) -> Job:
        job = self._jobs[id]
        return self._put(
            replace(job, status="running", started=job.created + 1, progress=progress, queue_position=None)
        )

    def end(self, id: str, status: Status, error: str | None = None) -> Job:
        job = self._jobs[id]
        return self._put(
            replace(job, status=status, finished=job.created + 2.5, error=error, queue_position=None)
        )

    def complete(self, id: str, document: Mapping[str, Any] = REPORT) -> Job:
        self.run(id)
        self._results[id] = dict(document)
        return self.end(id, "completed")

    def forget_result(self, id: str) -> None:
        del self._results[id]

    async def completed(self, tool: str = "vmaf_score", title: str = "a.yuv against b.yuv") -> Job:
        """A job that has run already."""
        job = await self.submit(JobSpec("score", {}, tool, title), client="test")
        return self.complete(job.id)

    def _put(self, job: Job) -> Job:
        self._jobs[job.id] = job
        for listener in list(self._listeners):
            listener(job)
        return job


def long_tool(name: str, argument: str) -> Tool:
    """A tool that can be submitted, with one required argument."""

    async def plan(arguments: Mapping[str, Any]) -> JobSpec:
        return JobSpec("score", dict(arguments), name, f"{name} of {arguments[argument]}")

    async def run(_: Call) -> Answer:
        raise AssertionError("submitted tools aren't called")

    schema = record(argument, **{argument: text(), "threads": whole(default=4)})
    return Tool(name, name, name, schema, run, plan=plan)


def short_tool() -> Tool:
    async def run(_: Call) -> Answer:
        return {}

    return Tool("vmaf_version", "Version", "No long work.", {"type": "object"}, run)


LONG_TOOLS = (long_tool("vmaf_score", "ref"), long_tool("run_benchmark", "size"), short_tool())


def serve(jobs: Any, long_tools: Sequence[Tool] = LONG_TOOLS) -> Server[Any]:
    """A server with the job tools, resources, prompts and completions over these jobs."""
    services = Services(AcuitySettings(data=Path("no data")), AllowedPaths([]), jobs)
    bus = InMemorySubscriptionBus()
    families = resources(services)
    publish_changes(jobs, bus)
    catalog = Catalog(
        tools=[*tools(services, long_tools), *frames.tools(services)],
        prompts=PROMPTS,
        resources=families,
        complete=completer(services, PROMPTS, families),
        listen=ListenHandler(bus),
    )
    return build_server(catalog, name="acuity", version="1")
