"""Comparisons: a row for each pair, with the digits of scoring it alone, or with its error."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    gone, fine, torn, alone = report.rows
    assert fine.error is None
    assert gone.error is not None
    assert "gone.mkv" in gone.error
    assert torn.error is not None
    assert "broken.mp4" in torn.error
    assert alone.error is not None
    assert "no.mkv" in alone.error
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


def packets(path: Path) -> list[tuple[int, int]]:
    """The times and sizes of a clip's packets, in the order in which they are shown."""
    import av

    with av.open(str(path)) as clip:
        return sorted((int(p.pts or 0), p.size) for p in clip.demux(video=0) if p.size)


@pytest.mark.parametrize(("skip", "frames"), [(0, 10), (5, 10), (5, 0)])
def test_the_bitrate_of_a_part_is_that_of_its_frames(tmp_path: Path, skip: int, frames: int) -> None:
    ref = container(tmp_path / "ref.mkv", 50)
    dis = container(tmp_path / "dis.mkv", 50, codec="libx264")  # its first frame has most of the bits
    row = compared((ref, dis), skip_ref=skip, skip_dis=skip, frames=frames).rows[0]
    part = packets(dis)[skip:][: frames or None]
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
