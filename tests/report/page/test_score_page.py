"""The page of a report: what it says of figures, of missing frames, and of measurements cut short."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from packed_columns import unpack

from acuity.measure.pooling import POOLS, percentile
from acuity.report.page.column_names import column_name
from acuity.report.page.html_page import LARGEST_FILE, html_page
from acuity.report.page.page_document import DATA_BUDGET, Page, PageColumn, Series
from acuity.report.page.score_page import score_page
from acuity.report.stored_report import StoredReport
from acuity.scoring.metrics import METRICS

HOSTILE = "</script><script>window.stopped = ['ran']</script>\"' \u202egnp.<b>"


def _report(values: list[float], frames: list[int] | None = None, **about: Any) -> Page:
    source = StoredReport(frames or list(range(len(values))), {"vmaf": np.array(values)})
    return score_page(source, {"acuity": about, "name": "old.json"})


def _texts(page: Page) -> list[str]:
    return [f"{note.level}: {note.text}" for note in page.notes]


def test_figures_are_those_of_the_columns() -> None:
    values = np.random.default_rng(3).uniform(20, 100, 500)
    page = _report(values.tolist())
    said = dict(page.series[0].columns[0].figures)
    assert said["mean"] == page.cards[0].value == f"{POOLS['mean'](values):.2f}"
    assert said["harmonic mean"] == f"{POOLS['harmonic_mean'](values):.2f}"
    assert said["lowest"] == f"{values.min():.2f}"
    assert said["p5"] == f"{percentile(values, 5):.2f}"
    packed = page.to_document()["series"][0]["columns"][0]["values"]
    assert unpack(packed) == [round(value, 6) for value in values.tolist()]
    assert page.cards[1].detail == f"frame {values.argmin()}"


def test_times_come_from_the_rate() -> None:
    video = {"frame_rate": "30000/1001", "path": "a/ref.mkv"}
    clip = {"reference": video, "distorted": {"path": "b/dis.mp4"}, "frame_step_ref": 2, "frame_skip_ref": 3}
    page = _report([1.0, 2.0], [0, 4], input=clip)
    assert page.series[0].times is not None
    assert page.series[0].times.tolist() == [3 * 1001 / 30000, 11 * 1001 / 30000]
    assert (page.title, page.subtitle) == ("dis.mp4", "against ref.mkv")
    for odd in ("0", "x", "1/0", "-3", None, [], "1e99"):
        assert _report([1.0], input={"reference": {"frame_rate": odd}}).series[0].times is None
    assert _report([1.0], input={"reference": {**video, "variable_rate": True}}).series[0].times is None


def test_measurements_cut_short_are_marked() -> None:
    partial = _report([1.0, 2.0], partial={"frames": 2, "of": 60}, subsample=1, input={"pairs": 2})
    assert partial.subtitle == "partial"
    assert partial.cards[0].tone == "warning"
    assert partial.series[0].events[0].text == "the measurement was interrupted after this frame"
    assert dict(partial.facts)["frames"] == "2 scored, partial: interrupted before 60"
    sampled = _report([1.0, 2.0, 3.0], [0, 5, 10], subsample=5, input={"pairs": 11})
    assert sampled.subtitle == "one frame in 5"
    assert (sampled.notes, sampled.series[0].events) == ([], [])
    steering = {
        "segments": [
            {"name": "vmaf", "label": "one", "first": 0, "last": 1},
            {"name": "vmaf", "label": "two", "options": "x=1", "first": 2, "last": 8},
        ],
        "subsample": [{"first": 0, "every": 1}, {"first": 4, "every": 4}],
        "stopped_after": 8,
    }
    steered = _report([1.0, 2.0, 3.0, 4.0, 5.0], [0, 1, 2, 4, 8], steering=steering)
    assert steered.subtitle == "steered"
    assert [(event.frame, event.text) for event in steered.series[0].events] == [
        (2, "vmaf is two (x=1) from here on"),
        (4, "one frame in 4 is scored from here on"),
        (8, "the measurement was stopped after this frame"),
    ]
    assert [(card.value, card.detail) for card in steered.cards] == [
        ("1.50", "one, mean of frames 0 to 1"),
        ("4.00", "two, mean of frames 2 to 8"),
    ]
    assert set(dict(steered.series[0].columns[0].figures).values()) == {"see each model"}
    assert steered.series[0].columns[0].breaks == [2]


def test_odd_reports_are_named() -> None:
    gaps = _report([1.0, 2.0, 3.0, 4.0], [0, 1, 2, 9])
    assert _texts(gaps) == ["warning: no figures between frame 2 and frame 9"]
    twice = _report([1.0, 2.0, 3.0], [1, 0, 1])
    assert _texts(twice) == ["warning: 1 frame numbers occur more than once, the first is 1: all are drawn"]
    assert twice.series[0].columns[0].values.tolist() == [2.0, 1.0, 3.0]
    source = StoredReport([0], {"vmaf": np.array([50.0])}, said={"vmaf": {"mean": 90.0}})
    page = score_page(source, {})
    (doubt,) = page.notes
    assert doubt.text == "the report has for vmaf mean 90, but its frames 50: the page shows the frames'"
    assert page.cards[0].value == "50.00"
    infinite = _report([1.0, math.inf, math.nan]).to_document()["notes"]
    assert [note["text"] for note in infinite] == [
        "1 of 3 frames has no number of vmaf, it is frame 2: its figures are of the other 2",
        "1 figure is infinite or too large to draw in vmaf",
    ]


def test_a_figure_belongs_to_the_frame_it_is_shown_with() -> None:
    said = {"vmaf": {"min": 12.0, "max": 71.0, "mean": 58.70004, "harmonic_mean": 60.1}}
    values = np.array([70.0, math.nan, 60.05, 71.0])
    page = score_page(StoredReport([58, 59, 60, 61], {"vmaf": values}, said=said), {})
    lowest = page.cards[1]
    assert (lowest.label, lowest.value, lowest.detail) == ("lowest frame", "60.05", "frame 60")
    assert (page.cards[0].value, page.cards[0].detail) == ("67.02", "mean of 3 frames")
    assert _texts(page) == [
        "warning: the report has for vmaf mean 58.7, but its frames 67.0167; harmonic mean 60.1, but its "
        "frames 66.6385; lowest 12, but its frames 60.05: the page shows the frames'",
        "info: 1 of 4 frames has no number of vmaf, it is frame 59: its figures are of the other 3",
    ]
    source = StoredReport([0, 1], {"vmaf": np.array([1.0, 2.01])}, said={"vmaf": {"mean": 1.50500009}})
    assert score_page(source, {}).notes == []  # more digits of the same mean


@pytest.mark.parametrize("source", [StoredReport([], {}), StoredReport([], {"vmaf": np.zeros(0)})])
def test_a_report_without_frames(source: StoredReport) -> None:
    page = score_page(source, {})
    assert [note.text for note in page.notes] == ["The report has no frames, so there is no curve."]
    assert "no frames, so there is no curve" in "".join(html_page(page))


@pytest.mark.parametrize("odd", [None, 3, "text", [], [3], {"x": 3}, True, {"input": 3, "notes": "x"}])
def test_what_stands_beside_frames_may_be_anything(odd: Any) -> None:
    source = StoredReport([0], {"vmaf": np.array([1.0])})
    lists = ("input", "notes", "partial", "steering", "subsample")
    whole = dict.fromkeys((*lists, "model", "command", "seconds", "fps", "threads"), odd)
    for extra in ({"acuity": odd}, {"acuity": whole}, {"tiny_model": odd}):
        assert "".join(html_page(score_page(source, extra))).endswith("</html>\n")


def test_names_stay_names() -> None:
    about = {"input": {"distorted": {"path": HOSTILE}}, "notes": [{"text": HOSTILE}], "command": HOSTILE}
    source = StoredReport([0], {HOSTILE: np.array([1.0]), "vmaf": np.array([2.0])})
    text = "".join(html_page(score_page(source, {"acuity": about})))
    assert text.count("<script") == 2  # the page's own
    assert "\u202e" not in text
    assert "\\u202egnp" in text
    data = text.split('id="page-data">', 1)[1].split("</script>", 1)[0]
    assert "<" not in data
    assert json.loads(data)["facts"][-2][1] == HOSTILE.replace("\u202e", "\\u202e")


@pytest.mark.parametrize(("rows", "columns"), [(14_400, 15), (170_000, 15), (170_000, 2), (3, 2000)])
def test_a_page_stays_small(rows: int, columns: int) -> None:
    random_number = np.random.default_rng(1)
    score = np.clip(85 + random_number.normal(0, 4, rows), 0, 100)
    others = (random_number.normal(0.8, 0.1, rows) for _ in range(columns - 1))
    made = [
        PageColumn("vmaf", "VMAF", "score", score),
        *(PageColumn("f", "f", "feature", one) for one in others),
    ]
    page = Page("score", "film", series=[Series("film", np.arange(rows), made, np.arange(rows) / 24)])
    document = page.to_document()
    headline = document["series"][0]["columns"][0]["values"]
    assert (headline["encoding"], headline["count"]) == ("delta", rows)
    assert sum(len(one["values"]["data"]) for one in document["series"][0]["columns"]) <= DATA_BUDGET
    if columns < 100:
        assert len("".join(html_page(page)).encode()) <= LARGEST_FILE


def test_metrics_are_shown_as_the_commands_show_them() -> None:
    for metric in METRICS.values():
        if not metric.model:
            shown = column_name(metric.key, asked=[metric.key])
            assert (shown.kind, shown.main) == ("metric", True)
            assert (shown.unit, shown.better, shown.decimals) == (metric.unit, metric.better, metric.decimals)


def test_thousands_of_columns_are_not_shown() -> None:
    columns = {f"f{number}": np.zeros(3) for number in range(5000)} | {"vmaf": np.full(3, 90.0)}
    page = score_page(StoredReport([0, 1, 2], columns), {})
    assert [column.name for column in page.series[0].columns][:3] == ["vmaf", "f0", "f1"]
    assert len(page.series[0].columns) == 64
    (note,) = page.notes
    assert "64 columns, scores and metrics first: left out are f63, f64" in note.text
    assert note.text.endswith("and 4,929 more; the report has all")
