"""A server with some tools, by default those that score, over jobs that run in a thread of the test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from mcp import Client
from mcp.server.lowlevel import Server

from acuity.access.paths import AllowedPaths
from acuity.agents.settings import AcuitySettings
from acuity.agents.tools.scoring import tools
from acuity.agents.tools.services import Services
from acuity.errors import AcuityError, JobFailed
from acuity.jobs.progress import JobOutcome, ProgressListener
from acuity.jobs.tasks import TASKS, load_task
from longwire.product.app import build_server
from longwire.product.catalog import Catalog, Tool
from longwire.work import JobSpec, Progress
from scoring_clips import GEOMETRY
from small_model import small_document
from tool_results import conforming

ERAS = ["legacy", "2026-07-28"]
# The geometry of the clips as acuity.score() takes it.
OWN_GEOMETRY = {"pixel_format" if name == "pixfmt" else name: value for name, value in GEOMETRY.items()}

Ask = Callable[..., Awaitable[dict[str, Any]]]
Family = Callable[[Services], Sequence[Tool]]


class ThreadJobs:
    """jobs.run() as the service does it, less the processes."""

    def __init__(self) -> None:
        self.specs: list[JobSpec] = []

    async def run(
        self, spec: JobSpec, *, client: str, progress: ProgressListener | None = None
    ) -> JobOutcome:
        self.specs.append(spec)
        here = anyio.lowlevel.current_token()

        def report(told: Progress) -> None:
            if progress is not None:
                anyio.from_thread.run(progress, told, token=here)  # tasks may have threads of their own

        task = partial(load_task(spec.task, TASKS), json.loads(json.dumps(spec.payload)), report)
        return JobOutcome(f"job-{len(self.specs)}", await anyio.to_thread.run_sync(task))


class InlineJobs(ThreadJobs):
    """Jobs that fail as in the service, or as they are told to; or end with this document."""

    def __init__(self, failure: AcuityError | None = None, document: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._failure = failure
        self._document = document

    async def run(self, spec: JobSpec, **more: Any) -> JobOutcome:
        if self._failure is not None:
            raise self._failure
        if self._document is not None:
            return JobOutcome("job", self._document)
        try:
            return await super().run(spec, **more)
        except AcuityError as error:
            raise JobFailed(str(error)) from error


def services_for(folder: Path, jobs: Any, binary: Path | None = None) -> Services:
    settings = settings_for(folder, binary)
    paths = AllowedPaths.configured(
        settings.data, settings.allow, settings.allow_write, listed_by="list_videos"
    )
    return Services(settings, paths, jobs)


def settings_for(folder: Path, binary: Path | None = None) -> AcuitySettings:
    """Clients may read and write in the folder."""
    data, allow, name = folder / "data", (str(folder),), None if binary is None else str(binary)
    return AcuitySettings(data=data, allow=allow, allow_write=allow, binary=name)


def put_model(path: Path, text: str | None = None) -> Path:
    """A file of this text, or a small model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(small_document()) if text is None else text)
    return path


def serve(services: Services, family: Family = tools) -> Server[Any]:
    """A server with a family of tools, by default those that score."""
    return build_server(Catalog(tools=family(services)), name="acuity", version="1")


def raw_arguments(folder: Path, **more: Any) -> dict[str, Any]:
    """Arguments of vmaf_score for ref.yuv and dis.yuv; None leaves one out."""
    given = {"ref": str(folder / "ref.yuv"), "dis": str(folder / "dis.yuv"), **GEOMETRY, **more}
    return {name: value for name, value in given.items() if value is not None}


def encoded_arguments(folder: Path, **more: Any) -> dict[str, Any]:
    """Arguments of vmaf_score_encoded for ref.mkv and dis.mp4."""
    given = {"reference_encoded": str(folder / "ref.mkv"), "distorted_encoded": str(folder / "dis.mp4")}
    return {**given, **more}


async def ask_with(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, which has to be what its schema says; errors are answers too."""
    watch = arguments.pop("_progress", None)
    result = await client.call_tool(name, arguments, progress_callback=watch)
    tool = next(tool for tool in (await client.list_tools()).tools if tool.name == name)
    return conforming(result, tool)


@asynccontextmanager
async def asking(server: Server[Any], era: str = "2026-07-28") -> AsyncIterator[Ask]:
    """A way to ask a server."""
    async with Client(server, mode=era) as client:
        yield partial(ask_with, client)


def playing(
    folder: Path,
    *,
    binary: Path | None = None,
    jobs: Any = None,
    era: str = "2026-07-28",
    family: Family = tools,
) -> AbstractAsyncContextManager[Ask]:
    """A way to ask a server that may read the folder."""
    return asking(serve(services_for(folder, jobs or ThreadJobs(), binary), family), era)


async def _answer(
    asking: AbstractAsyncContextManager[Ask], name: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    async with asking as ask:
        return await ask(name, **arguments)


def ask_once(
    folder: Path,
    name: str,
    /,
    *,
    binary: Path | None = None,
    jobs: Any = None,
    family: Family = tools,
    **arguments: Any,
) -> dict[str, Any]:
    """The answer to one question."""
    return anyio.run(_answer, playing(folder, binary=binary, jobs=jobs, family=family), name, arguments)


@dataclass
class Asked:
    """A server with one family of tools, over folders that exist."""

    family: Family
    jobs: Any = field(default_factory=InlineJobs)
    roots: Sequence[Path] = ()
    binary: str | None = None
    bench_output: str | None = None

    def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """One question."""
        return anyio.run(_answer, self.playing(), name, arguments)

    def playing(self) -> AbstractAsyncContextManager[Ask]:
        settings = AcuitySettings(binary=self.binary, bench_output=self.bench_output)
        return asking(serve(Services(settings, AllowedPaths(self.roots), self.jobs), self.family))
