"""The scoring tools over worker processes, as a server has them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from mcp import Client

from acuity.access.paths import AllowedPaths
from acuity.jobs.service import Jobs, JobsConfig
from scoring_clips import HELP, fake_vmaf
from scoring_room import ask_with, raw_arguments, serve, services_for, settings_for
from waiting import until


@asynccontextmanager
async def playing(
    folder: Path, *, workers: Path | None = None, binary: Path | None = None, era: str = "legacy"
) -> AsyncIterator[tuple[Client, Jobs]]:
    """A server with one worker: both may read the folder, unless the worker has one of its own."""
    allowed = settings_for(workers or folder)
    roots = tuple(map(str, AllowedPaths.configured(allowed.data, allowed.allow).roots))
    config = JobsConfig(workers=1, queue=4, time_limit=60, kept=10, data=None, nice=0, roots=roots)
    async with Jobs(config) as jobs, Client(serve(services_for(folder, jobs, binary)), mode=era) as client:
        yield client, jobs


async def test_workers_check_what_they_open(clips: Path, tmp_path: Path) -> None:
    """As if a file had been replaced by a link to elsewhere after the server's check."""
    other = tmp_path / "other"
    other.mkdir()
    async with playing(clips, workers=other) as (client, _):
        refused = await ask_with(client, "vmaf_score", **raw_arguments(clips))
        assert refused["error"].startswith(f"path {clips / 'ref.yuv'} not under an allowlisted root")


async def test_a_cancelled_call_ends_the_binary_and_its_children(clips: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pids"
    os.mkfifo(pipe)
    forever = f"""
child = os.fork()
if child:
    with open({str(pipe)!r}, "w") as pids:
        pids.write(f"{{os.getpid()}} {{child}}")
import select
select.select([], [], [])
"""
    binary = fake_vmaf(tmp_path / "vmaf", help=HELP, scoring=forever)
    async with playing(clips, binary=binary) as (client, jobs):
        async with anyio.create_task_group() as calls:
            calls.start_soon(partial(ask_with, client, "vmaf_score", **raw_arguments(clips)))
            with anyio.fail_after(30):
                pids = (await anyio.to_thread.run_sync(pipe.read_text)).split()
            calls.cancel_scope.cancel()
        (job,), _ = await jobs.list()
        with anyio.fail_after(5):
            assert (await jobs.wait(job.id)).status == "cancelled"
        assert len(pids) == 2
        await until(lambda: not any(alive(int(pid)) for pid in pids))


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet buried doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
