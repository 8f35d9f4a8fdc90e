"""Helpers for the tests of the job service: configurations, specs, listeners, and watched processes."""

from __future__ import annotations

import asyncio
import fcntl
import inspect
import os
import select
from pathlib import Path
from typing import Any, Final

import pytest

import job_tasks
from acuity.errors import JobError
from acuity.jobs.service import JobOutcome, Jobs, JobsConfig
from longwire.work import Job, JobSpec, Progress

PATIENCE: Final = 60.0  # seconds until a test that waits for something gives up

TASKS: Final = {
    name: f"job_tasks:{name}"
    for name, function in vars(job_tasks).items()
    if inspect.isfunction(function) and function.__module__ == "job_tasks" and not name.startswith("_")
}


def config(**changes: Any) -> JobsConfig:
    settings = {"workers": 2, "queue": 8, "time_limit": PATIENCE, "kept": 100, "data": None, "warm": ()}
    settings["running_each"] = 8  # any number: most tests have one client
    return JobsConfig(**{**settings, "extra_tasks": TASKS, **changes})


def spec(task: str, time_limit: float | None = None, **payload: Any) -> JobSpec:
    return JobSpec(task, payload, tool=f"{task}_tool", title=f"{task} it", time_limit=time_limit)


def with_jobs(**changes: Any) -> pytest.MarkDecorator:
    """A test whose service, the fixture `jobs`, is configured with these changes."""
    return pytest.mark.parametrize("jobs", [changes], indirect=True, ids=[""])


class Heard:
    """A listener that remembers what it was told, and can be waited for."""

    def __init__(self) -> None:
        self.all: list[Progress] = []
        self._more = asyncio.Condition()

    async def __call__(self, progress: Progress) -> None:
        async with self._more:
            self.all.append(progress)
            self._more.notify_all()

    @property
    def messages(self) -> list[str]:
        return [progress.message for progress in self.all]

    async def more(self) -> None:
        """Until the next one."""
        async with self._more:
            await asyncio.wait_for(self._more.wait(), PATIENCE)

    async def until(self, message: str) -> Progress:
        async with self._more:
            await asyncio.wait_for(self._more.wait_for(lambda: message in self.messages), PATIENCE)
        return next(progress for progress in self.all if progress.message == message)


class Changes:
    """A listener to changes of jobs that can be waited for."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str]] = []
        self._more = asyncio.Event()

    def __call__(self, job: Job) -> None:
        self.all.append((job.id, job.status))
        self._more.set()

    async def any(self, status: str) -> str:
        """The id of the first job that has come to the status."""
        while not (found := [id for id, its in self.all if its == status]):
            self._more.clear()
            await self._more.wait()
        return found[0]

    async def until(self, id: str, status: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while (id, status) not in self.all:
                self._more.clear()
                await self._more.wait()


class Running:
    """A job that somebody waits for, at the point where its task has said that it holds."""

    def __init__(self, jobs: Jobs, work: JobSpec, client: str = "a") -> None:
        self.heard = Heard()
        self.call = asyncio.ensure_future(jobs.run(work, client=client, progress=self.heard))

    async def holding(self) -> Progress:
        return await self.heard.until("holding")

    async def outcome(self) -> JobOutcome | JobError:
        try:
            return await asyncio.wait_for(self.call, PATIENCE)
        except JobError as error:
            return error


class Watched:
    """A process, to be seen gone. Made while it lives, it can't mistake another for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid)

    @property
    def alive(self) -> bool:
        return not self._ended(0.0)

    async def gone(self) -> None:
        """Until it has ended; fails when it doesn't."""
        assert await asyncio.to_thread(self._ended, PATIENCE), f"process {self.pid} lives on"

    def _ended(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def __del__(self) -> None:
        os.close(self._fd)


class Gate:
    """What jobs that hold can wait for: a lock that is held until the gate is opened."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "gate")
        self._file = open(self.path, "w")  # noqa: SIM115 - open() closes it
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def open(self) -> None:
        self._file.close()
