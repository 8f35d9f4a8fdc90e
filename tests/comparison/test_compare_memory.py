"""Remembered pairs: the same digits again, and never an old figure for a changed file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from acuity.comparison import run
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.row import CompareRow
from acuity.comparison.run import compare_videos
from acuity.scoring.request import Request
from scoring_clips import container


def _compared(ref: Path, *encodes: Path, remember: bool = True, **settings: object) -> CompareReport:
    pairs = [ComparePair(str(ref), str(path)) for path in encodes]
    return compare_videos(ComparisonRequest(pairs, Request("", "", **settings), remember=remember))  # type: ignore[arg-type]


def _equal(one: CompareRow, other: CompareRow) -> None:
    assert one.report is not None
    assert other.report is not None
    for name, values in one.report.results.columns.items():
        np.testing.assert_array_equal(other.report.results.columns[name], values, strict=True)
    assert one.report.to_dict(per_frame=True, pools=["p5"]) == other.report.to_dict(
        per_frame=True, pools=["p5"]
    )
    assert one.report.notes == other.report.notes
    assert [note.pieces for note in one.report.notes] == [note.pieces for note in other.report.notes]
    assert (one.size, one.kbps, one.seconds) == (other.size, other.kbps, other.seconds)


def test_a_second_run_has_the_same_digits_without_scoring(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 8), container(tmp_path / "dis.mkv", 7, worse=True)
    first = _compared(ref, dis, metrics=["vmaf", "psnr"])
    again = _compared(ref, dis, metrics=["vmaf", "psnr"])
    assert [row.remembered for row in first.rows + again.rows] == [False, True]
    assert first.rows[0].report is not None
    assert first.rows[0].report.warnings  # the encode ends early
    _equal(first.rows[0], again.rows[0])


def test_another_request_is_scored_anew(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 6), container(tmp_path / "dis.mkv", 6, worse=True)
    _compared(ref, dis)
    assert not _compared(ref, dis, subsample=2).rows[0].remembered
    assert not _compared(ref, dis, models=["vmaf_v0.6.1neg"]).rows[0].remembered
    assert not _compared(ref, dis, remember=False).rows[0].remembered
    assert _compared(ref, dis, threads=1).rows[0].remembered
    assert _compared(ref, dis, metrics=["vmaf"]).rows[0].remembered  # the default by its name


def test_another_build_of_the_same_version_is_scored_anew(tmp_path, monkeypatch):
    ref, dis = container(tmp_path / "ref.mkv", 6), container(tmp_path / "dis.mkv", 6, worse=True)
    _compared(ref, dis)
    assert _compared(ref, dis).rows[0].remembered
    monkeypatch.setattr(run, "engine_build", lambda: "another")
    assert not _compared(ref, dis).rows[0].remembered


def test_a_changed_file_never_gets_an_old_figure(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 6), tmp_path / "dis.mkv"
    container(dis, 6, worse=True)
    before = dis.stat()
    old = _compared(ref, dis).rows[0]
    changed = container(tmp_path / "other.mkv", 6).read_bytes()
    padded = (
        changed.ljust(before.st_size, b"\0")[: before.st_size] if len(changed) < before.st_size else changed
    )
    dis.write_bytes(padded)
    os.utime(dis, ns=(before.st_atime_ns, before.st_mtime_ns))
    new = _compared(ref, dis).rows[0]
    assert not new.remembered
    assert new.score != old.score


def test_a_damaged_memory_is_noted_and_replaced(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 6), container(tmp_path / "dis.mkv", 6, worse=True)
    _compared(ref, dis)
    (file,) = (tmp_path / "cache").glob("compare-*.sqlite")
    file.write_bytes(b"no database " * 1000)
    report = _compared(ref, dis)
    assert report.rows[0].error is None
    assert not report.rows[0].remembered
    assert any("damaged" in note for note in report.notes)
    assert _compared(ref, dis).rows[0].remembered


def test_a_copy_of_the_reference_is_known_by_its_digest(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 6), container(tmp_path / "dis.mkv", 6, worse=True)
    copy = tmp_path / "copy.mkv"
    copy.write_bytes(ref.read_bytes())
    for _ in range(2):  # scored, then remembered
        report = _compared(ref, dis, copy)
        assert [row.copy for row in report.rows] == [False, True]
        assert report.to_document()["places"] == {"dis.mkv": 1, "copy.mkv": None}
