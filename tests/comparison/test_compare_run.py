"""Comparisons: a row for each pair, with the digits of scoring it alone, or with its error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import av
import pytest

import acuity
from acuity.comparison.page import INTERRUPTED, NONE_SCORED, compare_pictures, drawn_rows
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.run import Comparison, compare_videos
from acuity.scoring.request import Request
from moving_pictures import HEIGHT, WIDTH
from scoring_clips import container, raw, y4m


def compared(*paths: tuple[Path, Path], remember: bool = False, **settings: object) -> CompareReport:
    pairs = [ComparePair(str(ref), str(dis)) for ref, dis in paths]
    return compare_videos(ComparisonRequest(pairs, Request("", "", **settings), remember=remember))  # type: ignore[arg-type]


def test_a_pair_that_fails_is_a_row_with_its_sentence(tmp_path):
    ref = container(tmp_path / "ref.mkv", 8)
    bad = container(tmp_path / "bad.mkv", 8, worse=True)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"\0\0\0\x18ftypisom no video at all")
    report = compared((ref, tmp_path / "gone.mkv"), (ref, bad), (ref, broken), (tmp_path / "no.mkv", bad))
    gone, fine, torn, alone = (row.error for row in report.rows)
    assert fine is None
    for error, name in ((gone, "gone.mkv"), (torn, "broken.mp4"), (alone, "no.mkv")):
        assert name in str(error)
    assert next(row.name for row in report.ranking) == "bad.mkv"
    document = report.to_document(per_frame=True)
    assert document["schema"] == "acuity.compare/1"
    assert [entry["error"] is None for entry in document["pairs"]] == [False, True, False, False]
    assert len(document["pairs"][1]["per_frame"]["vmaf"]) == 8


def test_the_bitrate_is_that_of_the_video_alone(tmp_path):
    ref = container(tmp_path / "ref.mkv", 50)
    dis = container(tmp_path / "dis.mkv", 50, worse=True)
    row = compared((ref, dis)).rows[0]
    assert row.size == dis.stat().st_size
    assert row.seconds == pytest.approx(2.0, abs=0.001)
    assert row.kbps is not None
    assert 0.9 < row.kbps * 1000 * 2 / 8 / row.size < 1.0


@pytest.mark.parametrize(("skip", "frames"), [(0, 10), (5, 10), (5, 0)])
def test_the_bitrate_of_a_part_is_that_of_its_frames(tmp_path: Path, skip: int, frames: int) -> None:
    ref = container(tmp_path / "ref.mkv", 50)
    dis = container(tmp_path / "dis.mkv", 50, codec="libx264")  # its first frame has most of the bits
    row = compared((ref, dis), skip_ref=skip, skip_dis=skip, frames=frames).rows[0]
    with av.open(str(dis)) as clip:
        packets = sorted((packet.pts, packet.size) for packet in clip.demux(video=0) if packet.size)
    part = packets[skip:][: frames or None]
    assert row.kbps == pytest.approx(sum(size for _, size in part) * 8 / (len(part) / 25) / 1000, rel=1e-3)
    assert row.seconds == pytest.approx(len(part) / 25, abs=0.001)
    assert row.size == dis.stat().st_size


def test_raw_video_has_the_bitrate_of_its_file_where_its_rate_is_known(tmp_path):
    ref, dis = y4m(tmp_path / "ref.y4m", 5), y4m(tmp_path / "dis.y4m", 5, worse=True)
    row = compared((ref, dis)).rows[0]
    assert row.kbps == pytest.approx(dis.stat().st_size * 8 / 0.2 / 1000)
    plain = raw(tmp_path / "ref.yuv", 5), raw(tmp_path / "dis.yuv", 5, worse=True)
    geometry = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
    row = compared(plain, **geometry).rows[0]
    assert row.error is None
    assert row.size == plain[1].stat().st_size
    assert row.kbps is None


def test_more_pairs_than_one_group_and_several_references(tmp_path):
    ref, other = container(tmp_path / "ref.mkv", 5), container(tmp_path / "other.mkv", 5, worse=True)
    dis = container(tmp_path / "dis.mkv", 5, worse=True)
    told: list[tuple[int, int | None]] = []
    pairs = [ComparePair(str(path), str(dis)) for path in [ref] * 10 + [other] * 2]
    report = compare_videos(
        ComparisonRequest(pairs, remember=False), progress=lambda done, total, _: told.append((done, total))
    )
    assert [row.error for row in report.rows] == [None] * 12
    assert len({row.score for row in report.rows[:10]}) == 1
    assert told[-1] == (60, 60)


def test_an_interrupted_comparison_keeps_finished_pairs(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 5), container(tmp_path / "dis.mkv", 5, worse=True)
    other = container(tmp_path / "other.mkv", 5)
    pairs = [ComparePair(str(ref), str(dis)), ComparePair(str(other), str(dis))]
    running: list[Comparison] = []

    def progress(done: int, total: int | None, _: float | None) -> None:
        if done >= 5:
            assert running[0].interrupt()

    report = compare_videos(ComparisonRequest(pairs), progress=progress, watch=running.append)
    assert report.interrupted
    assert report.rows[0].error is None
    assert (report.rows[1].status, report.rows[1].error) == ("not finished", None)
    assert report.errors == {}
    assert any("1 of 2 encodes are not finished" in note for note in report.all_notes)
    again = compare_videos(ComparisonRequest(pairs))
    assert [row.remembered for row in again.rows] == [True, False]


# ---- acuity.compare(): encodes in every form, the digits of score(), and files of all ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("call")
    y4m(made / "ref.y4m", 9)
    (made / "encodes").mkdir()
    container(made / "encodes" / "good.mkv", 9, codec="libx264")
    container(made / "encodes" / "bad.mkv", 9, worse=True)
    (made / "encodes.csv").write_text("reference,distorted,name\nref.y4m,encodes/bad.mkv,worse one\n")
    return made


def test_every_form_of_encodes(folder: Path) -> None:
    ref, encodes = folder / "ref.y4m", folder / "encodes"
    names = ["good.mkv", "bad.mkv"]
    for given in (encodes, str(encodes / "*.mkv"), [encodes / "bad.mkv", encodes / "good.mkv"]):
        assert list(acuity.compare(ref, given, remember=False).scores) == names
    assert list(acuity.compare(ref, {"b": str(encodes / "bad.mkv")}, remember=False).scores) == ["b"]
    assert list(acuity.compare(folder / "encodes.csv", remember=False).scores) == ["worse one"]


def test_the_digits_of_score_and_errors(folder: Path, tmp_path: Path) -> None:
    encodes = [folder / "encodes" / "good.mkv", folder / "gone.mkv"]
    report = acuity.compare(
        folder / "ref.y4m", encodes, model="vmaf_v0.6.1neg", metrics="psnr", skip=1, remember=False
    )
    alone = acuity.score(folder / "ref.y4m", encodes[0], model="vmaf_v0.6.1neg", metrics="psnr", skip=1)
    assert report.scores == {"good.mkv": alone.score if alone.models else alone.metrics["psnr"]}
    assert list(report.errors) == ["gone.mkv"]
    assert "1 failed" in str(report)
    for name in ("out.json", "out.csv", "out.html"):
        report.write(tmp_path / name)
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "acuity.compare/1"
    with pytest.raises(acuity.OutputError, match=r"end it with \.html, \.json or \.csv, or pass format="):
        report.write(tmp_path / "out.txt")


def test_a_part_has_its_own_bitrate_and_not_that_of_a_list(tmp_path: Path) -> None:
    ref = container(tmp_path / "ref.mkv", 20)
    container(tmp_path / "dis.mkv", 20, worse=True)
    (tmp_path / "list.csv").write_text("distorted,bitrate\ndis.mkv,7\n")
    whole = acuity.compare(ref, tmp_path / "list.csv", remember=False)
    part = acuity.compare(ref, tmp_path / "list.csv", remember=False, frames=5)
    assert whole.rows[0].kbps == 7.0 < (part.rows[0].kbps or 0)
    said = "bitrates are those of the frames that are scored, sizes are of whole files"
    assert [said in report.all_notes for report in (whole, part)] == [False, True]
    nothing = acuity.compare(ref, tmp_path / "list.csv", remember=False, frames=5, align="auto")
    assert any(note.startswith("no bitrate of dis.mkv: ") for note in nothing.all_notes)


# ---- The pictures of a comparison's page: which frames of which encodes, and why ther ----


@pytest.fixture(scope="module")
def report(folder: Path) -> CompareReport:
    (folder / "broken.mkv").write_bytes(b"no video")
    encodes = [folder / name for name in ("encodes/bad.mkv", "encodes/good.mkv", "broken.mkv")]
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
    scores = dict(zip(bad.results.frames, bad.results.columns["vmaf"].tolist(), strict=True))
    assert all(picture.score == scores[picture.frame] for picture in pictures if picture.series == 1)


def test_reasons(report: CompareReport, tmp_path: Path) -> None:
    none = CompareReport([row for row in report.rows if row.report is None], 1.0)
    assert compare_pictures(none, Request("", ""), 4) == ([], NONE_SCORED)
    stopped = replace(report, interrupted=True)
    assert compare_pictures(stopped, Request("", ""), 4) == ([], INTERRUPTED)
    y4m(tmp_path / "ref.y4m", 9)
    psnr = acuity.compare(tmp_path / "ref.y4m", [tmp_path / "ref.y4m"], metrics=["psnr"], remember=False)
    pictures, reason = compare_pictures(psnr, Request("", ""), 4)
    assert pictures == []
    assert "no model was scored" in str(reason)
    same = acuity.compare(tmp_path / "ref.y4m", [tmp_path / "ref.y4m"], remember=False)
    assert "identical" in str(compare_pictures(same, Request("", ""), 4)[1])
