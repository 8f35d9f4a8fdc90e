"""A report that another binary wrote is summed up as the library sums up its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import acuity
from acuity.jobs.tasks.report_summary import summarize
from acuity.report import render_report
from scoring_clips import container


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> acuity.ScoreReport:
    folder: Path = tmp_path_factory.mktemp("clips")
    container(folder / "ref.mkv")
    container(folder / "dis.mkv", worse=True)
    return acuity.score(folder / "ref.mkv", folder / "dis.mkv", model="version=vmaf_v0.6.1:name=mine")


def test_it_is_the_summary_of_the_exact_figures(scored: acuity.ScoreReport) -> None:
    report = json.loads("".join(render_report(scored.results, "json", "max")))
    found = summarize(report, {"mine": "vmaf_v0.6.1"})
    exact = scored.summary()
    assert (found["score"], found["model"]) == (exact["score"], exact["model"])
    (ours,), (theirs,) = found["models"], exact["models"]
    assert list(ours) == list(theirs)
    assert ours.pop("percentiles") == pytest.approx(theirs.pop("percentiles"), rel=0, abs=1e-10)
    assert ours == theirs
    assert [(frame["frame"], frame["score"]) for frame in found["worst"]] == scored.worst()


def test_frames_and_columns_that_are_not_there() -> None:
    rows = [
        {"frameNum": 0, "metrics": {"vmaf": 90.0}},
        {"frameNum": 2, "metrics": {"vmaf": None}},
        {"frameNum": 4, "metrics": {"vmaf": 70.0}},
    ]
    report = {"frames": rows, "pooled_metrics": {}}
    found = summarize(report, {"vmaf": None, "neg": "vmaf_v0.6.1neg"})
    assert (found["score"], found["model"], len(found["models"])) == (80.0, None, 1)
    assert [frame["frame"] for frame in found["worst"]] == [4, 0]
    nothing = summarize({"frames": [], "pooled_metrics": {}}, {"vmaf": None})
    assert nothing == {"score": None, "model": None, "models": [], "worst": []}
