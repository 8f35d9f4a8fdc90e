"""acuity.write_page(): pages with pictures from Python, and files that changed after they were scored."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.frames.page_pictures import page_pictures
from acuity.scoring.report import ScoreReport
from numbered_clips import DAMAGED, clip, pair, y4m

PICTURE = "data:image/webp;base64,"


@pytest.fixture
def report(tmp_path: Path) -> ScoreReport:
    return acuity.score(*pair(tmp_path), threads=1)


def test_a_page_shows_so_many_frames(report: ScoreReport, tmp_path: Path) -> None:
    page, told = tmp_path / "page.html", []
    acuity.write_page(report, page, 2, progress=lambda done, total: told.append((done, total)))
    assert page.read_text().count(PICTURE) == 2 * 4
    assert told[-1] == (report.pairs, report.pairs)
    acuity.write_page(report, page, pictures=0)
    assert PICTURE not in page.read_text()


def test_a_file_that_changed_since_it_was_scored_is_not_shown(report: ScoreReport, tmp_path: Path) -> None:
    """Also if it has the same size, length and format, so that only its time tells."""
    distorted = Path(report.request.distorted)  # type: ignore[union-attr, arg-type]
    before = distorted.stat()
    y4m(distorted, clip(damaged=DAMAGED, worn=True))
    os.utime(distorted, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    assert distorted.stat().st_size == before.st_size
    page = tmp_path / "page.html"
    acuity.write_page(report, page)
    text = page.read_text()
    assert PICTURE not in text
    assert "changed while its frames were scored and drawn" in text


def test_it_is_noticed_before_a_frame_is_read(report: ScoreReport) -> None:
    assert report.request is not None
    os.utime(report.request.distorted, ns=(0, 0))  # type: ignore[arg-type]
    told: list[Any] = []
    _, why = page_pictures(report.request, report, 2, progress=told.append)
    assert why is not None
    assert told == []


def test_a_report_that_was_kept_has_none(report: ScoreReport, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    acuity.write_page(replace(report, request=None), page)
    assert "without its videos" in page.read_text()


def test_what_progress_raises_leaves_no_file(report: ScoreReport, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acuity.write_page(report, tmp_path / "page.html", progress=stop)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pictures": 33}, "pictures=33 is no number of frames: give 0 to 32"),
        ({"pictures": -1}, "give 0 to 32"),
        ({"pictures": True}, "give 0 to 32"),
        ({"pictures": 2.5}, "give 0 to 32"),
        ({"path": "page.png"}, r"'page.png' is no name of a page: end it with \.html"),
        ({"path": "gone/page.html"}, "the folder 'gone' does not exist"),
        ({"report": {}}, "a dict is no report of acuity.score"),
    ],
)
def test_bad_arguments(report: ScoreReport, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(acuity.AcuityError, match=reason):
        acuity.write_page(**{"report": report, "path": "page.html", **options})
