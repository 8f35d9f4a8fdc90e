"""get_frames pages the figures of a finished score's frames."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fake_jobs import REPORT, FakeJobs, serve
from longwire.product.results import to_ordered_text
from longwire.work import JobSpec
from scoring_room import Ask, asking


def long_report(frames: int, names: int = 15) -> dict[str, Any]:
    """A report whose models scored every second frame."""
    features = [f"integer_feature_{name}" for name in range(names)]
    rows = [
        {"frameNum": 2 * n, "metrics": {**dict.fromkeys(features, 0.123456), "vmaf": 50 + n / 1000}}
        for n in range(frames)
    ]
    pooled = {name: {"min": 0.0, "max": 1.0, "mean": 0.5} for name in (*features, "vmaf")}
    models = [{"name": "vmaf", "label": "vmaf_v0.6.1"}]
    return {**REPORT, "frames": rows, "pooled_metrics": pooled, "score": 51.0, "models": models}


@asynccontextmanager
async def playing(document: dict[str, Any]) -> AsyncIterator[Ask]:
    """With a job that has this result."""
    jobs = FakeJobs()
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "a pair"), client="test")
    jobs.complete("job-1", document)
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "another"), client="test")
    async with asking(serve(jobs)) as ask:
        yield lambda **given: ask("get_frames", **{"job_id": "job-1", **given})


async def test_scores_come_alone_unless_features_are_named() -> None:
    async with playing(long_report(100)) as ask:
        scored = {"job_id": "job-1", "count": 2, "frames_scored": 100, "next": None}
        rows = {"columns": ["frame", "vmaf"], "rows": [[4, 50.002], [6, 50.003]]}
        assert await ask(first=3, last=6) == scored | rows
        named = await ask(last=0, features=["integer_feature_3", "vmaf", "integer_feature_3"])
        assert named["columns"] == ["frame", "integer_feature_3", "vmaf"]
        assert named["rows"] == [[0, 0.123456, 50.0]]
        everything = await ask(last=0, features=["all"])
        assert len(everything["columns"]) == 17


@pytest.mark.parametrize("features", [[], ["all"]])
async def test_pages_are_short_and_together_they_are_all(features: list[str]) -> None:
    report = long_report(3000)
    async with playing(report) as ask:
        rows: list[Any] = []
        following: dict[str, int] | None = {}
        while following is not None:
            page = await ask(features=features, **following)
            assert len(to_ordered_text(page)) < 20_000
            assert page["rows"]
            assert page["count"] == len(page["rows"])
            rows += page["rows"]
            following = page["next"]
        assert [row[0] for row in rows] == [frame["frameNum"] for frame in report["frames"]]
        assert all(len(row) == (17 if features else 2) for row in rows)


async def test_a_figure_that_a_frame_lacks_is_null() -> None:
    async with playing(REPORT) as ask:
        found = await ask(features=["integer_motion", "vmaf"])
        assert found["rows"][2] == [2, None, None]


async def test_a_report_without_a_model_shows_what_it_has() -> None:
    rows = [{"frameNum": 0, "metrics": {"psnr_y": 40.0}}]
    report = {**REPORT, "frames": rows, "pooled_metrics": {"psnr_y": {"mean": 40.0}}, "models": []}
    async with playing(report) as ask:
        assert (await ask())["columns"] == ["frame", "psnr_y"]
        assert (await ask(first=7))["rows"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"first": 9, "last": 0}, "invalid last 0: should be 9 or more, as first is"),
        ({"first": -1}, "invalid first -1: should be 0 or more"),
        ({"features": ["vma"]}, "no frame has a figure 'vma': there are integer_motion, vmaf"),
        (
            {"job_id": "nobody"},
            "there is no report 'nobody': list_jobs and acuity://reports have those that are kept",
        ),
        ({"job_id": "job-2"}, "job 'job-2' is queued: its report is here once it has completed"),
    ],
)
async def test_what_can_not_be_read_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    async with playing(REPORT) as ask:
        assert await ask(**arguments) == {"error": sentence}
