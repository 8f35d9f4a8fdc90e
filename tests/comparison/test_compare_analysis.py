"""Places and ties of a comparison, its differences and BD-rates, and their document."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.comparison.differences import Difference, block_length, difference, interval
from acuity.comparison.encoder_curves import CurvePoint, encoder_rates
from acuity.comparison.encoder_names import SOURCES, encoder_finder, from_name
from acuity.comparison.report import CompareReport
from acuity.comparison.row import CompareRow
from acuity.errors import InputError
from acuity.scoring.bd_rate import bd_rate, compare_scores
from acuity.video.notes import warning
from made_reports import report

FRAMES = 100


def row(name: str, level: float, *, spread: float = 1.0, reference: str = "ref", **more: Any) -> CompareRow:
    values = level + spread * np.sin(np.arange(FRAMES) * (1 + len(name)))
    return CompareRow(name, reference, f"{name}.mp4", report=report(values), **more)


def test_places_and_ties() -> None:
    rows = [row("low", 60.0), row("top", 90.0), row("twin", 89.99), CompareRow("bad", "ref", "x")]
    found = CompareReport(rows, 1.0).analysis
    places = [(one.row.name, one.place, one.shown_place) for one in found.standings]
    assert places == [("top", 1, "1="), ("twin", 1, "1="), ("low", 3, "3"), ("bad", None, "")]
    best, twin, low, bad = (standing.to_best for standing in found.standings)
    assert (best, bad) == (None, None)
    assert twin is not None
    assert twin.tie
    assert low is not None
    assert low.mean == pytest.approx(-30.0, abs=0.2)
    pairs = [(entry.a, entry.b) for entry in found.differences]
    assert pairs == [("top", "twin"), ("top", "low"), ("twin", "low")]


def test_references_are_ranked_by_themselves() -> None:
    rows = [row("a", 60.0), row("c", 70.0)]
    rows[1:1] = [row("b", 90.0, reference="other"), row("d", 95.0, reference="other")]
    found = CompareReport(rows, 1.0)
    assert [entry.name for entry in found.ranking] == ["c", "a", "d", "b"]
    assert [(entry.a, entry.b) for entry in found.analysis.differences] == [("c", "a"), ("d", "b")]
    assert [one.place for one in found.analysis.standings] == [1, 2, 1, 2]


def test_low_figures_can_be_good_ones() -> None:
    rows = [
        CompareRow(name, "ref", name, report=report(np.full(FRAMES, level), metric="cambi"))
        for name, level in (("banded", 9.0), ("smooth", 1.0))
    ]
    rows = [replace(one, encoder="x", kbps=100.0) for one in rows]
    found = CompareReport(rows, 1.0)
    assert [entry.name for entry in found.ranking] == ["smooth", "banded"]
    (difference,) = found.analysis.differences
    assert (difference.a, difference.mean, difference.better_share) == ("smooth", -8.0, 1.0)


def test_of_many_encodes_each_is_compared_with_the_best_and_the_next() -> None:
    rows = [row(f"e{number:02d}", 90.0 - 3 * number) for number in range(14)]
    found = CompareReport(rows, 1.0).analysis.differences
    assert len(found) == 13 + 12
    assert all(entry.a == "e00" or int(entry.b[1:]) == int(entry.a[1:]) + 1 for entry in found)


def test_the_document_has_bd_rates() -> None:
    rows = [
        row(f"{name}_{step}", 40.0 + 10 * step, spread=0, encoder=name, kbps=100.0 * 2**step * factor)
        for name, factor in (("x264", 1.0), ("x265", 0.5))
        for step in range(5)
    ]
    document = CompareReport(rows, 1.0).to_document(command="acuity compare …")
    (entry,) = document["bd_rates"]
    assert (entry["encoder"], entry["against"]) == ("x265", "x264")
    assert entry["bd_rate_percent"] == pytest.approx(-50.0)
    assert entry["bd_score"] == pytest.approx(10.0)
    assert document["command"] == "acuity compare …"
    swapped = CompareReport(rows, 1.0, against="x265").to_document()["bd_rates"][0]
    assert (swapped["encoder"], swapped["bd_rate_percent"]) == ("x264", pytest.approx(100.0))


def test_encodes_are_ranked_on_the_frames_that_all_have() -> None:
    content = np.where(np.arange(FRAMES) < FRAMES // 2, 80.0, 60.0) + np.sin(np.arange(FRAMES))
    whole = CompareRow("whole", "ref", "w", encoder="x", kbps=1.0, report=report(content))
    part = CompareRow("part", "ref", "p", report=report(content[: FRAMES // 2] - 1.5))
    found = CompareReport([part, whole], 1.0)
    assert part.score is not None
    assert whole.score is not None
    assert part.score > whole.score
    assert [(one.row.name, one.place) for one in found.analysis.standings] == [("whole", 1), ("part", 2)]
    (difference,) = found.analysis.differences
    assert (difference.a, difference.b, difference.frames) == ("whole", "part", FRAMES // 2)
    assert difference.mean == pytest.approx(1.5)
    document = found.to_document()
    assert document["ranked_on"] == [{"reference": "ref", "frames": 50, "most_frames": 100}]
    assert document["pairs"][0]["score"] == part.score
    assert any("ranked on 50 common frames (part lacks some)" in note for note in document["notes"])


def test_an_encode_with_less_than_half_of_the_frames_has_no_place() -> None:
    short = CompareRow("short", "ref", "s", report=report(np.full(FRAMES // 2 - 1, 99.0)))
    found = CompareReport([short, row("top", 90.0), row("low", 60.0)], 1.0)
    assert found.to_document()["places"] == {"top": 1, "low": 2, "short": None}
    assert found.analysis.basis("ref") is None
    assert found.analysis.notes == ["short has 49 of 100 frames, too few for a place"]
    assert list(found.scores) == ["top", "low", "short"]


def test_a_copy_of_the_reference_has_no_place() -> None:
    same, other = row("same", 97.0), row("other", 97.0, copy=True)
    assert same.report is not None
    same.report.notes.append(warning("identical", "the files have the same content"))
    found = CompareReport([same, row("top", 90.0), other, row("low", 60.0)], 1.0)
    assert found.to_document()["places"] == {"top": 1, "low": 2, "same": None, "other": None}
    assert [(entry.a, entry.b) for entry in found.analysis.differences] == [("top", "low")]
    said = "is a copy of the reference, and has no place"
    assert found.analysis.notes == [f"same {said}", f"other {said}"]


ANCHOR = [(400.0, 62.1), (800.0, 78.4), (1500.0, 88.9), (2600.0, 94.2)]
TEST = [(310.0, 58.0), (640.0, 76.2), (1100.0, 87.5), (2100.0, 94.0), (3300.0, 96.1)]


def points(reference: str, encoder: str, curve: list[tuple[float, float]]) -> list[CurvePoint]:
    return [CurvePoint(reference, encoder, f"{encoder} {rate}", rate, score) for rate, score in curve]


def test_against_the_first() -> None:
    (found,) = encoder_rates([*points("r", "x264", ANCHOR), *points("r", "x265", TEST)])
    assert (found.encoder, found.against, found.reference) == ("x265", "x264", "r")
    assert found.percent == bd_rate(ANCHOR, TEST)
    assert found.score == compare_scores(ANCHOR, TEST)
    assert found.note == "scores 62.10 to 94.20"


def test_too_few_points_name_the_encoder() -> None:
    (found,) = encoder_rates([*points("r", "x264", ANCHOR[:2]), *points("r", "x265", TEST)])
    assert found.percent is None
    assert found.score is None
    assert found.note == "x264 has 2 rising points, and a BD-rate needs at least 4"


def test_several_references_have_a_mean() -> None:
    many = [
        *points("r", "a", ANCHOR),
        *points("r", "b", TEST),
        *points("s", "a", ANCHOR),
        *points("s", "b", [(rate * 2, score) for rate, score in ANCHOR]),
    ]
    first, second, mean = encoder_rates(many)
    assert second.percent == pytest.approx(100.0)
    assert first.percent is not None
    assert (mean.reference, mean.note) == (None, "mean of 2 references")
    assert mean.percent == pytest.approx((first.percent + 100.0) / 2)


def test_curves_that_cross_are_called_so() -> None:
    anchor = [(100.0, 40.0), (200.0, 60.0), (400.0, 80.0), (800.0, 95.0)]
    crossing = [(100.0, 50.0), (200.0, 61.0), (400.0, 78.0), (900.0, 93.0)]
    (found,) = encoder_rates([*points("r", "a", anchor), *points("r", "b", crossing)])
    assert found.percent == pytest.approx(2.04, abs=0.01)  # more bits,
    assert found.score == pytest.approx(0.39, abs=0.01)  # and better at equal rates
    assert "the curves cross" in (found.note or "")
    better = [(rate, score + 1) for rate, score in anchor]
    (found,) = encoder_rates([*points("r", "a", anchor), *points("r", "b", better)])
    assert "cross" not in (found.note or "")


# ---- Differences frame by frame: exact means, intervals that cover, and no frame that ----


Floats = NDArray[np.float64]


def scored(name: str, values: Any, frames: Any = None, rate: int | None = 25) -> CompareRow:
    return CompareRow(name, "ref", name, report=report(values, frames, rate))


def noisy(seed: int, count: int, *, mean: float = 0.0) -> Floats:
    """Figures that depend on their neighbours."""
    steps = np.random.default_rng(seed).normal(0, 1, count + 200).tolist()
    return np.array(list(accumulate(steps, lambda value, step: 0.9 * value + step))[200:]) + mean


def compared(one: Any, other: Any, frames: Any = None, **about: Any) -> Difference:
    found = difference(scored("a", one, frames, **about), scored("b", other, frames, **about))
    assert found is not None
    return found


def test_the_mean_and_the_share_of_better_frames() -> None:
    found = compared([90.0, 80.0, 70.0], [80.0, 85.0, 60.0])
    assert (found.a, found.b, found.frames) == ("a", "b", 3)
    assert found.mean == 5.0
    assert found.better_share == pytest.approx(2 / 3)
    assert found.worse_share == pytest.approx(1 / 3)
    assert found.ci95 is None  # three frames say nothing of others
    assert found.turned().turned() == found
    lower = difference(scored("a", [1.0, 2.0]), scored("b", [3.0, 1.0]), lower_is_better=True)
    assert lower is not None
    assert lower.better_share == 0.5


def test_equal_encodes_tie_and_a_constant_step_does_not() -> None:
    same = compared(np.full(50, 90.0), np.full(50, 90.0))
    assert (same.tie, same.mean, same.ci95, same.worst) == (True, 0.0, (0.0, 0.0), [])
    step = compared(np.arange(50.0), np.arange(50.0) + 0.5)
    assert not step.tie
    assert step.ci95 == (pytest.approx(-0.5), pytest.approx(-0.5))


def test_only_frames_that_both_have_count() -> None:
    nan = float("nan")
    found = difference(
        scored("a", [1.0, 2.0, nan, 4.0, 5.0], [0, 2, 4, 6, 8]), scored("b", [1.0, 1.0, 1.0], [2, 4, 6])
    )
    assert found is not None
    assert (found.frames, found.mean) == (2, 2.0)
    assert difference(scored("a", [nan, nan]), scored("b", [1.0, 2.0])) is None
    assert difference(scored("a", [1.0], [0]), scored("b", [1.0], [1])) is None


def test_the_greatest_are_a_second_apart_and_by_size() -> None:
    values = np.zeros(100)
    values[10:14] = [-5.0, -9.0, -8.0, 1.0]
    values[60] = 7.0
    found = compared(values, np.zeros(100))
    assert found.worst == [(11, 0.44, -9.0), (60, 2.4, 7.0)]


def test_blocks_are_a_second_unless_the_clip_is_short() -> None:
    assert [block_length(count, 25.0) for count in (1, 7, 40, 200, 2000)] == [1, 1, 5, 25, 25]
    assert compared(np.ones(400), np.zeros(400), range(0, 2000, 5)).block == 5
    without_rate = compared(np.ones(400), np.zeros(400), rate=None)
    assert (without_rate.block, without_rate.worst[0].time) == (25, None)


def test_the_interval_covers_the_true_mean() -> None:
    """Of dependent figures, where taking each frame for itself would cover in less than half the clips."""
    covered = naive = 0
    for seed in range(60):
        values = noisy(seed, 600)
        low, high = interval(values, 25)
        covered += low <= 0 <= high
        low, high = interval(values, 1)
        naive += low <= 0 <= high
    assert covered >= 51  # 85 %: short blocks and few of them cost some of the 95
    assert naive < 36


def test_long_clips_are_drawn_in_slices() -> None:
    low, high = interval(noisy(3, 170_000, mean=1.0), 24)
    assert 0.8 < low < 1.0 < high < 1.2


# ---- The encoder of an encode: from its name, folder or metadata, or by a pattern of  ----


@pytest.mark.parametrize(
    ("path", "encoder"),
    [
        ("out/x264_2000k.mp4", "x264"),
        ("x264_slow_2.5M.mp4", "x264_slow"),
        ("film.x265-crf28.mkv", "film.x265"),
        ("svtav1_q32.ivf", "svtav1"),
        ("x264_720p_1500kbps.mp4", "x264"),
        ("vp9-1080p60-cq30.webm", "vp9"),
        ("x264 3000.mp4", "x264"),
        ("encoded.mp4", None),
        ("2000k.mp4", None),
        ("_2000k.mp4", None),
        ("x264.mp4", None),
    ],
)
def test_the_name_before_its_bitrate_or_quality(path: str, encoder: str | None) -> None:
    assert from_name(path) == encoder


def test_sources() -> None:
    info = {"codec": "hevc", "encoder": "Lavc61.3.100 libx265"}
    path = "/clips/slow/x265_30.mkv"
    found = {name: encoder_finder(name)(path, info) for name in SOURCES}
    assert found == {"auto": "x265", "name": "x265", "folder": "slow", "metadata": "libx265", "none": None}
    assert encoder_finder("auto")("a.mkv", info) == "libx265"
    assert encoder_finder("auto")("a.mkv", {"codec": "hevc"}) == "hevc"
    assert encoder_finder("auto")("a.yuv", None) is None
    mixed = encoder_finder("auto", ["enc_x264_2000k.mp4", "other.mp4"])
    assert mixed("enc_x264_2000k.mp4", info) == mixed("other.mp4", info) == "libx265"
    pattern = encoder_finder(r"film_(?P<encoder>\w+?)_")
    assert [pattern(path, None) for path in ("/a/film_x264_slow.mp4", "/a/other.mp4")] == ["x264", None]


@pytest.mark.parametrize("source", ["words", r"(\w+)_", "(?P<encoder"])
def test_a_source_that_is_none(source: str) -> None:
    with pytest.raises(InputError, match=r"says no encoder: .*use one of auto, name"):
        encoder_finder(source)
