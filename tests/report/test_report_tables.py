"""Tables for people and programs, and the page with curves."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET

import pytest

from acuity.report.curves_page import Curve, CurvePoint, curves_page
from acuity.report.tables import Table, to_csv

TABLE = Table(["encoder", "kbit/s"], [["libx264", "1,200"], ["a|b", "90"]], [False, True])


def test_text_is_aligned() -> None:
    assert TABLE.text("") == ["encoder  kbit/s", "libx264   1,200", "a|b          90"]


def test_markdown_keeps_cells_apart() -> None:
    assert TABLE.markdown() == [
        "| encoder | kbit/s |",
        "|---|---:|",
        "| libx264 | 1,200 |",
        "| a\\|b | 90 |",
    ]


def test_csv_is_read_back() -> None:
    text = to_csv(["a", "b"], [['say "x", y', None], ["line\nbreak", 1.5]])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ['say "x", y', ""], ["line\nbreak", "1.5"]]


def svg_of(page: str) -> ET.Element:
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    return ET.fromstring(page[start:end])


def test_every_point_is_drawn_once_and_better_ones_higher() -> None:
    curves = [
        Curve("libx264", [CurvePoint(2000, 95, "crf 20"), CurvePoint(500, 80, "crf 30", chosen=True)]),
        Curve("libx265", [CurvePoint(900, 91, "crf 25")]),
    ]
    page = curves_page("Title", "about", curves, [("Rows", TABLE)], targets=[93.0], notes=["a note"])
    svg = svg_of(page)
    titles = [mark.text for mark in svg.iter("title")]
    assert titles == [
        "libx264 crf 30: 80.00 at 500 kbit/s",
        "libx264 crf 20: 95.00 at 2,000 kbit/s",
        "libx265 crf 25: 91.00 at 900 kbit/s",
    ]
    first = next(line.attrib["points"] for line in svg.iter("polyline"))
    (x1, y1), (x2, y2) = (tuple(map(float, pair.split(","))) for pair in first.split())
    assert x1 < x2
    assert y1 > y2  # the axis goes down
    assert [group.attrib.get("class") for group in svg.iter("g")].count("chosen") == 1
    assert len([line for line in svg.iter("line") if line.attrib["class"] == "target"]) == 1
    assert "<li>a note</li>" in page


def test_texts_are_escaped() -> None:
    evil = '<script>alert("x")</script>'
    curve = Curve(evil, [CurvePoint(100, 50, evil)])
    page = curves_page(evil, evil, [curve], [(evil, Table([evil], [[evil]], [False]))], notes=[evil])
    assert "<script" not in page
    svg_of(page)  # well-formed


@pytest.mark.parametrize("curves", [[], [Curve("libx264", [])]])
def test_no_points_no_drawing(curves: list[Curve]) -> None:
    assert "No encode was measured" in curves_page("t", "s", curves)


def test_one_point_alone_has_a_place() -> None:
    svg = svg_of(curves_page("t", "s", [Curve("a", [CurvePoint(1234, 77, "crf 1")])]))
    (circle,) = (mark for mark in svg.iter("circle") if float(mark.attrib["cx"]) < 900)
    assert 0 < float(circle.attrib["cx"]) < 960
    assert 0 < float(circle.attrib["cy"]) < 480


def test_the_page_loads_nothing() -> None:
    page = curves_page("t", "s", [Curve("a", [CurvePoint(1, 2, "x")])])
    assert all(word not in page for word in ("http", "src=", "url(", "@import", "<link"))


def test_columns_are_left_out_where_there_is_no_room() -> None:
    table = Table(["a", "long title", "b"], [["1", "2", "3"]], [True] * 3, ("long title",))
    assert table.text("") == ["a  long title  b", "1           2  3"]
    assert table.text("", width=16) == table.text("")
    assert table.text("", width=15) == ["a  b", "1  3"]
    assert table.text("", width=1) == ["a  b", "1  3"]  # nothing else may go
