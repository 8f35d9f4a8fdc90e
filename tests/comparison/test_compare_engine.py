"""Odd pairs that are scored together have the digits, notes and refusals of scoring each alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from acuity.comparison.group import MOST_PAIRS, most_pairs
from acuity.comparison.report import CompareReport
from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.row import CompareRow
from acuity.comparison.run import compare_videos
from acuity.errors import AcuityError, InputError
from acuity.scoring.report import ScoreReport
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
    from fractions import Fraction

    import av

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
    pairs = [ComparePair(str(ref), str(path)) for path in encodes]
    request = ComparisonRequest(pairs, Request("", "", **settings), remember=False)  # type: ignore[arg-type]
    report = compare_videos(request)
    for row in report.rows:
        assert_alone(row, **settings)
    return report


def scored(request: Request) -> ScoreReport | AcuityError:
    try:
        return run_request(request)
    except AcuityError as error:
        return error


def assert_alone(row: CompareRow, **settings: object) -> None:
    """The row has the figures and notes of its pair scored alone, or its refusal."""
    alone = scored(Request(row.reference, row.distorted, **settings))  # type: ignore[arg-type]
    if isinstance(alone, AcuityError):
        assert type(row.failure) is type(alone)
        assert str(row.failure) == str(alone)
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
    "settings",
    [
        {},
        {"metrics": ["vmaf", "psnr", "ssim", "cambi"], "viewing": "phone", "frames": 2},
        {"models": ["vmaf_v0.6.1", "version=vmaf_v0.6.1neg:name=neg"]},
        {"subsample": 5},
        {"skip_ref": 3, "skip_dis": 3},
        {"skip_ref": 15, "skip_dis": 15},  # more than the pairs may be apart
        {"features": ["motion=motion_five_frame_window=true", "motion=motion_fps_weight=2.0"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("depth", [8, 10])
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
    refused = compared(ref, lost, fine, late)
    assert refused.rows[0].error is not None
    assert refused.rows[1].error is None
    compared(ref, lost, fine, late, align="auto")
    warned = compared(ref, lost, fine, late, align="warn")
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


def test_a_pair_is_named_for_its_file():
    assert _names(ComparePair("ref.mkv", "out/a.mp4"), ComparePair("ref.mkv", "b.mp4", "best")) == [
        "a.mp4",
        "best",
    ]


def test_files_of_one_name_get_their_folders():
    pairs = [
        ComparePair("ref.mkv", path) for path in ("x/low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "x/b.mp4")
    ]
    assert _names(*pairs) == ["low/a.mp4", "x/high/a.mp4", "y/high/a.mp4", "b.mp4"]


def test_a_file_that_comes_twice_is_numbered():
    assert _names(*[ComparePair("ref.mkv", "a.mp4")] * 3) == ["a.mp4", "a.mp4 (2)", "a.mp4 (3)"]
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
