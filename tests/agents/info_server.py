"""A server with one family of tools and the SDK's client; its jobs run on a thread of the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
from mcp import Client

from acuity.access.paths import AllowedPaths
from acuity.agents.settings import AcuitySettings
from acuity.errors import AcuityError, JobFailed
from acuity.jobs.job import JobOutcome, JobSpec, Progress, ProgressListener
from acuity.jobs.tasks import TASKS, load_task
from longwire.product.app import build_server
from longwire.product.catalog import Catalog, Tool
from tool_results import conforming

Family = Callable[[Any], Sequence[Tool]]
Ask = Callable[..., Awaitable[dict[str, Any]]]


class InlineJobs:
    """Does the work of a job at once, or raises what it was told to."""

    def __init__(self, failure: AcuityError | None = None, document: dict[str, Any] | None = None) -> None:
        self.specs: list[JobSpec] = []
        self._failure = failure
        self._document = document

    async def run(
        self, spec: JobSpec, *, client: str, progress: ProgressListener | None = None
    ) -> JobOutcome:
        self.specs.append(spec)
        if self._failure is not None:
            raise self._failure
        if self._document is not None:
            return JobOutcome("job", self._document)
        told: list[Progress] = []
        task = load_task(spec.task, TASKS)
        payload = json.loads(json.dumps(spec.payload))  # as it arrives in a worker
        try:
            document = await asyncio.to_thread(task, payload, told.append)
        except AcuityError as error:
            raise JobFailed(str(error)) from error
        for word in told if progress is not None else ():
            await progress(word)
        return JobOutcome("job", document)


@dataclass
class Asked:
    """A server, and what it said."""

    family: Family
    jobs: Any = field(default_factory=InlineJobs)
    roots: Sequence[Path] = ()
    binary: str | None = None
    bench_output: str | None = None

    def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """One question."""

        async def main() -> dict[str, Any]:
            async with self.playing() as ask:
                return await ask(name, **arguments)

        return anyio.run(main)

    def listed(self) -> list[types.Tool]:
        found: list[types.Tool] = []

        async def main() -> None:
            async with Client(self._server()) as client:
                found.extend((await client.list_tools()).tools)

        anyio.run(main)
        return found

    def _server(self) -> Any:
        services: Any = SimpleNamespace(
            settings=AcuitySettings(binary=self.binary, bench_output=self.bench_output),
            paths=AllowedPaths(self.roots),
            jobs=self.jobs,
        )
        return build_server(Catalog(tools=self.family(services)), name="acuity", version="1")

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[Ask]:
        """Every good answer is held to the output schema; errors are told as {"error": …}."""
        async with Client(self._server()) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}

            async def ask(name: str, /, **arguments: Any) -> dict[str, Any]:
                watch = arguments.pop("_progress", None)
                result = await client.call_tool(name, arguments, progress_callback=watch)
                return conforming(result, listed[name])

            yield ask
