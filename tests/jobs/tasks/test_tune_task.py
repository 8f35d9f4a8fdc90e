"""The task that tunes, in a real worker: progress that rises, and a cancelled job that leaves nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from acuity.errors import JobCancelled, JobFailed
from acuity.jobs.job import JobSpec
from acuity.jobs.service import Jobs
from acuity.jobs.tasks.tune import tune_payload
from acuity.tune.request import PerShotRequest, SearchRequest, TuneRequest
from job_helpers import Heard, Watched, config, on_loop
from tune_clips import write_y4m


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(tmp_path / "cache"))


def job(command: str, request: TuneRequest) -> JobSpec:
    return JobSpec("tune", tune_payload(command, request), f"run_{command}", "a test")


def encoder_processes() -> Iterator[int]:
    """The processes under this one that encode."""
    for child in psutil.Process(os.getpid()).children(recursive=True):
        with suppress(psutil.Error):  # it has ended already
            if "acuity.tune" in " ".join(child.cmdline()):
                yield child.pid


@on_loop
async def test_progress_rises_to_the_answer(tmp_path: Path) -> None:
    source = str(write_y4m(tmp_path / "clip.y4m", 20))
    heard = Heard()
    async with Jobs(config()) as jobs:
        asked = SearchRequest(src=source, target_vmaf=75.0, preset="ultrafast")
        outcome = await jobs.run(job("search", asked), client="me", progress=heard)
    assert outcome.document["ok"]
    assert heard.all
    done = [progress.done for progress in heard.all]
    assert done == sorted(done)
    assert done[-1] >= 1
    assert "libx264 crf" in heard.all[-1].message
    assert set(heard.all[-1].details) >= {"encodes_done", "encodes_planned", "fps", "eta_seconds", "best"}


@on_loop
async def test_a_cancelled_job_leaves_no_file_and_no_encoder(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    source = str(write_y4m(folder / "long.y4m", 150, 256, 144))
    heard = Heard()
    request = SearchRequest(
        src=source,
        target_vmaf=1.0,
        crf_min=23,
        crf_max=23,
        preset="placebo",
        encoder_options=("x264-params=rc-lookahead=0:bframes=0",),  # frames come out soon
        encode=str(folder / "out.mkv"),
    )
    async with Jobs(config()) as jobs:
        call = asyncio.ensure_future(jobs.run(job("search", request), client="me", progress=heard))
        while not any(told.details.get("frames") for told in heard.all):
            await heard.more()
        encoders = [Watched(pid) for pid in encoder_processes()]
        assert encoders
        ((running, *_), _more) = await jobs.list([], 1)
        await jobs.cancel(running.id)
        with pytest.raises(JobCancelled):
            await call
        for encoder in encoders:
            await encoder.gone()
    assert [path.name for path in folder.iterdir()] == ["long.y4m"]


@on_loop
async def test_a_refusal_is_the_job_s_sentence(tmp_path: Path) -> None:
    async with Jobs(config()) as jobs:
        request = PerShotRequest(src=str(tmp_path / "none.mkv"))
        with pytest.raises(JobFailed, match="does not exist"):
            await jobs.run(job("tune-per-shot", request), client="me")
