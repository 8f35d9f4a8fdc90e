"""Places and ties of a comparison, its differences and BD-rates, and their document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acuity.comparison.encoder_curves import CurvePoint, encoder_rates
from acuity.comparison.report import CompareReport
from acuity.comparison.row import CompareRow
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
    assert [(one.row.name, one.place, one.shown_place) for one in found.standings] == [
        ("top", 1, "1="),
        ("twin", 1, "1="),
        ("low", 3, "3"),
        ("bad", None, ""),
    ]
    best, twin, low, bad = found.standings
    assert (best.to_best, bad.to_best) == (None, None)
    assert twin.to_best is not None
    assert twin.to_best.tie
    assert low.to_best is not None
    assert low.to_best.mean == pytest.approx(-30.0, abs=0.2)
    assert [(entry.a, entry.b) for entry in found.differences] == [
        ("top", "twin"),
        ("top", "low"),
        ("twin", "low"),
    ]


def test_references_are_ranked_by_themselves() -> None:
    rows = [
        row("a", 60.0),
        row("b", 90.0, reference="other"),
        row("c", 70.0),
        row("d", 95.0, reference="other"),
    ]
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
    curves = {"x264": 1.0, "x265": 0.5}
    rows = [
        row(
            f"{encoder}_{level}", 40.0 + 10 * level, spread=0, encoder=encoder, kbps=100.0 * 2**level * factor
        )
        for encoder, factor in curves.items()
        for level in range(5)
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
    same = row("same", 97.0)
    assert same.report is not None
    same.report.notes.append(warning("identical", "the files have the same content"))
    found = CompareReport([same, row("top", 90.0), row("low", 60.0)], 1.0)
    assert found.to_document()["places"] == {"top": 1, "low": 2, "same": None}
    assert [(entry.a, entry.b) for entry in found.analysis.differences] == [("top", "low")]
    assert found.analysis.notes == ["same is a copy of the reference, and has no place"]


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
