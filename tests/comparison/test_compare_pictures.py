"""The pictures of a comparison's page: which frames of which encodes, and why there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import acuity
from acuity.comparison.page import INTERRUPTED, NONE_SCORED, compare_pictures, drawn_rows
from acuity.comparison.report import CompareReport
from acuity.scoring.request import Request
from scoring_clips import container, y4m

FRAMES = 10


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> CompareReport:
    folder = tmp_path_factory.mktemp("pictures")
    y4m(folder / "ref.y4m", FRAMES)
    container(folder / "good.mkv", FRAMES, codec="libx264")
    container(folder / "bad.mkv", FRAMES, worse=True)
    (folder / "broken.mkv").write_bytes(b"no video")
    encodes = [folder / name for name in ("bad.mkv", "good.mkv", "broken.mkv")]
    return acuity.compare(folder / "ref.y4m", encodes, remember=False)


def test_the_worst_frames_and_those_that_differ(report: CompareReport) -> None:
    pictures, reason = compare_pictures(report, Request("", ""), 4)
    assert reason is None
    names = [drawn_rows(report)[picture.series].name for picture in pictures]
    assert names == ["bad.mkv", "bad.mkv", "good.mkv", "bad.mkv"]
    worst = report.analysis.differences[0].worst[0]
    assert [picture.frame for picture in pictures[2:]] == [worst.frame] * 2
    assert pictures[2].score - pictures[3].score == pytest.approx(worst.difference)
    assert f"Differs most from bad.mkv, which has VMAF {pictures[3].score:.2f}. " in pictures[2].description
    assert len({picture.frame for picture in pictures}) == 3
    bad = next(row.report for row in report.rows if row.name == "bad.mkv")
    assert bad is not None
    scores = dict(zip(bad.results.frames, bad.results.columns[bad.scores[0]].tolist(), strict=True))
    assert [picture.score for picture in pictures if picture.series == 1] == [
        scores[picture.frame] for picture in pictures if picture.series == 1
    ]


def test_reasons(report: CompareReport, tmp_path: Path) -> None:
    none = CompareReport([row for row in report.rows if row.report is None], 1.0)
    assert compare_pictures(none, Request("", ""), 4) == ([], NONE_SCORED)
    stopped = replace(report, interrupted=True)
    assert compare_pictures(stopped, Request("", ""), 4) == ([], INTERRUPTED)
    y4m(tmp_path / "ref.y4m", FRAMES)
    psnr = acuity.compare(tmp_path / "ref.y4m", [tmp_path / "ref.y4m"], metrics=["psnr"], remember=False)
    pictures, reason = compare_pictures(psnr, Request("", ""), 4)
    assert pictures == []
    assert reason is not None
    assert "no model was scored" in reason
    same = acuity.compare(tmp_path / "ref.y4m", [tmp_path / "ref.y4m"], remember=False)
    assert "identical" in str(compare_pictures(same, Request("", ""), 4)[1])
