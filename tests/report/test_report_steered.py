"""Reports of a steered measurement: marks where each model holds, and figures only where they are."""

from __future__ import annotations

import json
import math

import pytest

from acuity.measure import Measurement
from acuity.models.choose import ModelChoice
from acuity.report import render_report
from acuity.scoring.report import ScoreReport
from acuity.video.pairs.clock import PairTimes
from moving_pictures import pair

MARKS = {
    "segments": [
        {"name": "vmaf", "label": "vmaf_v0.6.1", "first": 0, "last": 3, "options": ""},
        {"name": "vmaf", "label": "vmaf_v0.6.1neg", "first": 4, "last": 8, "options": ""},
    ],
    "subsample": [{"first": 0, "every": 1}, {"first": 6, "every": 2}],
    "stopped_after": 8,
}


@pytest.fixture(scope="module")
def report() -> ScoreReport:
    with Measurement(2) as measurement:
        measurement.add_model("vmaf_v0.6.1")
        for index in range(9):
            if index == 4:
                measurement.swap_model("vmaf", "vmaf_v0.6.1neg")
            if index == 6:
                measurement.set_subsample(2)
                measurement.stop_after(8)
            measurement.add(*pair(index))
        measurement.flush()
        return ScoreReport(
            results=measurement.results(),
            models=measurement.models,
            choice=ModelChoice("vmaf_v0.6.1", "resolution", "the default"),
            notes=[],
            input={"pairs": 9},
            bitdepth=8,
            timeline=PairTimes(None, None, variable=False),
            threads=measurement.threads,
            instruction_set=measurement.instruction_set,
            seconds=1.0,
        )


def test_the_document_says_who_holds_where(report: ScoreReport) -> None:
    document = json.loads(json.dumps(report.to_dict(per_frame=True), allow_nan=False))
    assert document["model"] == document["models"][0]["label"] == "vmaf (steered)"
    assert document["model_chosen_by"] == "steering"  # not by resolution any more
    assert document["frames"] == 8
    assert document["per_frame"]["frame"] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert document["per_frame"]["integer_adm2"][4:] == [None] * 4
    marks = document["steering"]
    for segment, plain in zip(marks["segments"], MARKS["segments"], strict=True):  # type: ignore[arg-type]
        assert {key: segment[key] for key in plain} == plain
        for method in ("min", "max", "mean", "harmonic_mean"):
            assert segment[method] == report.pool("vmaf", method, segment["first"], segment["last"])
    assert [segment["frames"] for segment in marks["segments"]] == [4, 4]
    assert marks["subsample"] == MARKS["subsample"]
    assert marks["stopped_after"] == 8
    assert document["features"]["integer_adm2"]["mean"] == report.pool("integer_adm2")
    assert document["score"] is document["models"][0]["mean"] is None  # two models have no common scale
    assert math.isnan(report.score)
    assert [row["frame"] for row in document["worst"]] == [
        frame for part in (range(4), range(4, 9)) for frame, _ in report.worst() if frame in part
    ]
    assert {row["model"] for row in document["worst"] if row["frame"] > 3} == {"vmaf_v0.6.1neg"}


def test_json_reports_carry_marks_and_leave_out_what_is_missing(report: ScoreReport) -> None:
    pieces = render_report(report.results, "json", "max", extra={"acuity": report.about()})
    written = json.loads("".join(pieces))
    assert written["acuity"]["steering"] == report.results.marks()
    assert set(written["pooled_metrics"]["vmaf"].values()) == {None}
    metrics = {frame["frameNum"]: frame["metrics"] for frame in written["frames"]}
    names = ("integer_adm2", "integer_adm2_egl_1")
    assert [[name in metrics[frame] for name in names] for frame in (3, 4)] == [[True, False], [False, True]]
    assert metrics[4]["vmaf"] == report.results.columns["vmaf"][4]
    mean = sum(metrics[index]["integer_adm2"] for index in range(4)) / 4
    assert written["pooled_metrics"]["integer_adm2"]["mean"] == pytest.approx(mean)
