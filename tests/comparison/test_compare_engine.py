"""Odd pairs that are scored together have the digits, notes and refusals of scoring each alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
import numpy as np
import pytest

from acuity.cli.exits import INTERRUPTED
from acuity.cli.main import main
from acuity.comparison import run
from acuity.comparison.group import MOST_PAIRS, most_pairs
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.row import CompareRow
from acuity.comparison.run import compare_videos
from acuity.errors import AcuityError, InputError
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from moving_pictures import HEIGHT, WIDTH, luma
from scoring_clips import container, raw, y4m

RAW = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
FRAMES = 24


def clip(
    path: Path,
    numbers: Sequence[int] = range(FRAMES),
    *,
    times: Sequence[int] | None = None,
    depth: int = 8,
    worse: bool = False,
    codec: str = "ffv1",
) -> Path:
    """The pictures of these numbers; `times` are in hundredths of a second, otherwise 4 apart."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=25)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = WIDTH, HEIGHT
        stream.pix_fmt = name = "yuv420p" if depth == 8 else f"yuv420p{depth}le"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 100)
        for place, number in enumerate(numbers):
            rows = luma(number, worse=worse).astype(np.uint8 if depth == 8 else np.uint16) << (depth - 8)
            grey = np.full((HEIGHT // 2, WIDTH), 128 << (depth - 8), rows.dtype)
            frame = av.VideoFrame.from_ndarray(np.vstack([rows, grey]), format=name)
            frame.pts, frame.time_base = (4 * place if times is None else times[place]), Fraction(1, 100)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def compared(ref: Path, *encodes: Path, **settings: object) -> CompareReport:
    report = _compared(ref, *encodes, remember=False, **settings)
    for row in report.rows:
        assert_alone(row, **settings)
    return report


def assert_alone(row: CompareRow, **settings: object) -> None:
    """The row has the figures and notes of its pair scored alone, or its refusal."""
    try:
        alone: Any = run_request(Request(row.reference, row.distorted, **settings))  # type: ignore[arg-type]
    except AcuityError as error:
        alone = error
    if isinstance(alone, AcuityError):
        assert (type(row.failure), str(row.failure)) == (type(alone), str(alone))
        return
    assert row.report is not None, row.error
    assert list(row.report.results.columns) == list(alone.results.columns)
    for name, values in alone.results.columns.items():
        np.testing.assert_array_equal(row.report.results.columns[name], values, strict=True)
    assert row.report.results.frames == alone.results.frames
    assert row.report.notes == alone.notes
    assert row.report.input == alone.input
    assert row.report.summary() == alone.summary()


@pytest.fixture(scope="module")
def encodes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of other depth, size and codec."""
    folder = tmp_path_factory.mktemp("encodes")
    return [
        clip(folder / "worse.mkv", worse=True),
        clip(folder / "deep.mkv", worse=True, depth=10),
        container(folder / "small.mkv", FRAMES, half=True),
        container(folder / "lossy.mp4", FRAMES, codec="libx264"),
    ]


@pytest.mark.parametrize(
    ("depth", "settings"),
    [
        (8, {}),
        (10, {"metrics": ["vmaf", "psnr", "ssim", "cambi"], "viewing": "phone", "frames": 2}),
        (10, {"models": ["vmaf_v0.6.1", "version=vmaf_v0.6.1neg:name=neg"]}),
        (8, {"subsample": 5}),
        (10, {"skip_ref": 3, "skip_dis": 3}),
        (8, {"skip_ref": 15, "skip_dis": 15}),  # more than the pairs may be apart
        (8, {"features": ["motion=motion_five_frame_window=true", "motion=motion_fps_weight=2.0"]}),
    ],
    ids=str,
)
def test_encodes_of_other_depths_and_sizes(tmp_path, encodes, depth, settings):
    ref = clip(tmp_path / "ref.mkv", depth=depth)
    # The small one looks shifted, which is refused otherwise.
    report = compared(ref, *encodes, align="warn", **settings)
    assert [row.error for row in report.rows] == [None] * 4


def test_a_reference_of_variable_rate(tmp_path, encodes):
    fast = container(tmp_path / "fast.mkv", FRAMES, rate=50)
    times = [4 * number + (number % 3 == 1) + 9 * (number > 11) for number in range(FRAMES)]
    ref = clip(tmp_path / "ref.mkv", times=times)
    same = clip(tmp_path / "same.mkv", times=times, worse=True)
    report = compared(ref, same, *encodes)
    assert report.rows[0].report is not None
    assert report.rows[0].report.input["reference"]["variable_rate"]
    compared(ref, same, fast, *encodes, rate="by-index")
    compared(ref, fast)


def test_lost_frames_and_a_doubtful_alignment(tmp_path):
    ref = clip(tmp_path / "ref.mkv", range(60))
    lost = clip(tmp_path / "lost.mkv", [*range(20), *range(23, 60)], worse=True)
    late = clip(tmp_path / "late.mkv", [0, 0, 0, *range(57)], worse=True)
    fine = clip(tmp_path / "fine.mkv", range(60), worse=True)
    refused = compared(ref, lost, fine, late, metrics=["psnr"])
    assert refused.rows[0].error is not None
    assert refused.rows[1].error is None
    compared(ref, lost, fine, late, align="auto", metrics=["psnr"])
    warned = compared(ref, lost, fine, late, align="warn", metrics=["psnr"])
    assert warned.rows[0].report is not None
    assert warned.rows[0].report.warnings
    assert {note.code for note in warned.rows[1].report.warnings} == {"brightness"}  # type: ignore[union-attr]


def test_files_that_break_in_the_middle(tmp_path):
    ref = clip(tmp_path / "ref.mkv")
    fine = clip(tmp_path / "fine.mkv", worse=True)
    torn = tmp_path / "torn.mkv"
    whole = fine.read_bytes()
    torn.write_bytes(whole[: len(whole) * 6 // 10])
    short = y4m(tmp_path / "short.y4m", FRAMES, worse=True)
    with short.open("r+b") as file:
        file.truncate(short.stat().st_size - 100)
    report = compared(ref, fine, torn, short)
    assert report.rows[0].error is None
    assert report.rows[2].error is not None
    for row in compared(torn, fine, ref, fine).rows:  # the reference breaks, for every encode alike
        assert row.report is None or row.report.notes


def test_pairs_that_open_the_reference_in_other_ways(tmp_path):
    """A pair of files that say their size refuses the geometry, which the pairs with raw ones need."""
    ref = y4m(tmp_path / "ref.y4m", FRAMES)
    plain = [raw(tmp_path / f"{n}.yuv", FRAMES, worse=True) for n in range(3)]
    report = compared(ref, plain[0], y4m(tmp_path / "dis.y4m", FRAMES), *plain[1:], **RAW)
    assert [row.error is None for row in report.rows] == [True, False, True, True]


@pytest.mark.parametrize(
    ("width", "height", "depth", "pairs"),
    [(64, 64, 8, MOST_PAIRS), (3840, 2160, 8, MOST_PAIRS), (3840, 2160, 10, 4), (15360, 8640, 16, 2)],
)
def test_fewer_pairs_at_once_for_large_pictures(tmp_path, width, height, depth, pairs):
    ref = tmp_path / "ref.yuv"
    with ref.open("wb") as file:  # a file with a hole
        file.truncate(width * height * 3 // 2 * (1 if depth == 8 else 2))
    geometry = {"width": width, "height": height, "pixel_format": "420", "bitdepth": depth}
    request = ComparisonRequest([ComparePair(str(ref), "a.yuv")], Request("", "", **geometry))  # type: ignore[arg-type]
    assert most_pairs(request, str(ref), 20) == pairs
    assert most_pairs(request, str(ref), 3) == min(pairs, 3)
    assert most_pairs(request, str(ref), 1) == 1
    assert most_pairs(request, str(tmp_path / "none.mkv"), 20) == MOST_PAIRS


def _names(*given: ComparePair) -> list[str]:
    return [pair.name for pair in ComparisonRequest(given).pairs]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["out/a.mp4"], ["a.mp4"]),
        (
            ["x/low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "x/b.mp4"],  # folders that tell them apart
            ["low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "b.mp4"],
        ),
        (["a.mp4"] * 3, ["a.mp4", "a.mp4 (2)", "a.mp4 (3)"]),
    ],
)
def test_a_pair_is_named_for_its_file(files, names):
    assert _names(*(ComparePair("ref.mkv", path) for path in files)) == names


def test_names_that_are_given_stay_if_they_differ():
    assert _names(ComparePair("r", "a", "best"), ComparePair("r", "b")) == ["best", "b"]
    given = [ComparePair("r", "a", "one"), ComparePair("r", "b", "one"), ComparePair("r", "c", "one (2)")]
    assert len(set(_names(*given))) == 3


@pytest.mark.parametrize(
    ("pairs", "scoring", "why"),
    [
        ([], Request("", ""), "nothing to compare"),
        ([ComparePair("-", "a.mp4")], Request("", ""), "standard input"),
        ([ComparePair("ref.mkv", "a.mp4")], Request("", "", resume="part.json"), "resume"),
    ],
)
def test_what_cannot_be_compared_is_refused(pairs, scoring, why):
    with pytest.raises(InputError, match=why):
        ComparisonRequest(pairs, scoring)


# ---- Remembered pairs: the same digits again, and never an old figure for a changed f ----


def _compared(ref: Path, *encodes: Path, remember: bool = True, **settings: object) -> CompareReport:
    pairs = [ComparePair(str(ref), str(path)) for path in encodes]
    return compare_videos(ComparisonRequest(pairs, Request("", "", **settings), remember=remember))  # type: ignore[arg-type]


def _equal(one: CompareRow, other: CompareRow) -> None:
    assert one.report is not None
    assert other.report is not None
    for name, values in one.report.results.columns.items():
        np.testing.assert_array_equal(other.report.results.columns[name], values, strict=True)
    documents = [row.report.to_dict(per_frame=True, pools=["p5"]) for row in (one, other) if row.report]
    assert documents[0] == documents[1]
    assert one.report.notes == other.report.notes
    assert [note.pieces for note in one.report.notes] == [note.pieces for note in other.report.notes]
    assert (one.size, one.kbps, one.seconds) == (other.size, other.kbps, other.seconds)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return container(tmp_path / "ref.mkv", 6), container(tmp_path / "dis.mkv", 6, worse=True)


def test_a_second_run_has_the_same_digits_without_scoring(tmp_path):
    ref, dis = container(tmp_path / "ref.mkv", 8), container(tmp_path / "dis.mkv", 7, worse=True)
    first = _compared(ref, dis, metrics=["vmaf", "psnr"])
    again = _compared(ref, dis, metrics=["vmaf", "psnr"])
    assert [row.remembered for row in first.rows + again.rows] == [False, True]
    assert first.rows[0].report is not None
    assert first.rows[0].report.warnings  # the encode ends early
    _equal(first.rows[0], again.rows[0])


def test_another_request_or_build_is_scored_anew(pair, monkeypatch):
    _compared(*pair)
    for options, known in (
        ({"subsample": 2}, False),
        ({"models": ["vmaf_v0.6.1neg"]}, False),
        ({"remember": False}, False),
        ({"threads": 1}, True),
        ({"metrics": ["vmaf"]}, True),  # the default by its name
    ):
        assert _compared(*pair, **options).rows[0].remembered is known, options
    monkeypatch.setattr(run, "engine_build", lambda: "another")
    assert not _compared(*pair).rows[0].remembered


def test_a_changed_file_never_gets_an_old_figure(pair, tmp_path):
    ref, dis = pair
    before = dis.stat()
    old = _compared(ref, dis).rows[0]
    dis.write_bytes(container(tmp_path / "other.mkv", 6).read_bytes().ljust(before.st_size, b"\0"))
    os.utime(dis, ns=(before.st_atime_ns, before.st_mtime_ns))
    new = _compared(ref, dis).rows[0]
    assert not new.remembered
    assert new.score != old.score


def test_a_damaged_memory_is_noted_and_replaced(pair, tmp_path):
    _compared(*pair)
    (file,) = (tmp_path / "cache").glob("compare-*.sqlite")
    file.write_bytes(b"no database " * 1000)
    report = _compared(*pair)
    assert (report.rows[0].error, report.rows[0].remembered) == (None, False)
    assert any("damaged" in note for note in report.notes)
    assert _compared(*pair).rows[0].remembered


def test_a_copy_of_the_reference_is_known_by_its_digest(pair, tmp_path):
    ref, dis = pair
    copy = tmp_path / "copy.mkv"
    copy.write_bytes(ref.read_bytes())
    for _ in range(2):  # scored, then remembered
        report = _compared(ref, dis, copy)
        assert [row.copy for row in report.rows] == [False, True]
        assert report.to_document()["places"] == {"dis.mkv": 1, "copy.mkv": None}


# ---- Ctrl-C in the middle of `acuity compare`: what is finished is printed, and remem ----


SECONDS = 60  # after which a process counts as stuck


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = container(tmp_path / "first.mkv", 6)
    container(tmp_path / "second.mkv", 6)
    done = container(tmp_path / "done.mkv", 6, worse=True)
    stalled = tmp_path / "stalled.y4m"
    os.mkfifo(stalled)
    (tmp_path / "list.csv").write_text("reference,distorted\nfirst.mkv,done.mkv\nsecond.mkv,stalled.y4m\n")
    acuity = [sys.executable, "-c", "from acuity.cli.main import main; import sys; sys.exit(main())"]
    command = [*acuity, "compare", str(tmp_path / "list.csv"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    opened: list[BinaryIO] = []
    # Opening a pipe waits for its reader: the second pair, which begins when the first has ended.
    opening = threading.Thread(target=lambda: opened.append(stalled.open("wb", 0)), daemon=True)
    try:
        opening.start()
        opening.join(SECONDS)
        assert opened, "the second pair was never begun"
        whole = y4m(tmp_path / "whole.y4m", 6, worse=True).read_bytes()
        opened[0].write(whole[: len(whole) // 2])
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
        for pipe in opened:
            pipe.close()
    assert process.returncode == INTERRUPTED, errors
    document = json.loads(out)
    assert document["interrupted"]
    kept, lost = document["pairs"]
    assert (kept["error"], kept["status"], lost["error"]) == (None, "finished", None)
    assert lost["status"] == ("not finished" if lost["score"] is None else "partial")  # it had some frames
    assert any("1 of 2 encodes are not finished" in note for note in document["notes"])
    assert b"interrupted: waiting for the frames under way" in errors
    assert b"Traceback" not in errors
    assert main(["compare", str(first), str(done), "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert (pair["remembered"], pair["score"]) == (True, kept["score"])
