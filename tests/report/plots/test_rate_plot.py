"""Curves of quality over bitrate as SVG."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from acuity.report.page.page_document import RatePoint, Rates
from acuity.report.plots.figure import COLOURS
from acuity.report.plots.rate_plot import rate_plot

SVG = "{http://www.w3.org/2000/svg}"


def test_every_point_is_drawn_once_and_better_ones_higher() -> None:
    curves = [
        Rates("libx264", [RatePoint(2000, 95, "crf 20"), RatePoint(500, 80, "crf 30", chosen=True)]),
        Rates("libx265", [RatePoint(900, 91, "crf 25"), RatePoint(0, 91, "no rate")]),
    ]
    svg = ET.fromstring(rate_plot(curves, targets=[93.0]))
    assert [mark.text for mark in svg.iter(f"{SVG}title")] == [
        "libx264 crf 30: 80.00 at 500 kbit/s",
        "libx264 crf 20: 95.00 at 2,000 kbit/s",
        "libx265 crf 25: 91.00 at 900 kbit/s",
    ]
    first = next(line.attrib["points"] for line in svg.iter(f"{SVG}polyline"))
    (x1, y1), (x2, y2) = (tuple(map(float, pair.split(","))) for pair in first.split())
    assert x1 < x2
    assert y1 > y2  # the axis goes down
    assert [group.attrib.get("class") for group in svg.iter(f"{SVG}g")].count("chosen") == 1
    assert [line.attrib.get("class") for line in svg.iter(f"{SVG}line")].count("target") == 1
    assert svg.attrib["aria-label"] == "VMAF over bitrate. libx264: 2 encodes, libx265: 1 encode"


def test_texts_are_escaped() -> None:
    evil = '<script>alert("x")</script>'
    drawn = rate_plot([Rates(evil, [RatePoint(100, 50, evil)])], score_name=evil)
    assert "<script" not in drawn
    ET.fromstring(drawn)


@pytest.mark.parametrize("points", [[], [RatePoint(0, 50, "")], [RatePoint(100, math.nan, "")]])
def test_no_points_no_drawing(points: list[RatePoint]) -> None:
    assert rate_plot([]) == ""
    assert rate_plot([Rates("libx264", points)]) == ""


def test_one_point_alone_has_a_place() -> None:
    svg = ET.fromstring(rate_plot([Rates("a", [RatePoint(1234, 77, "crf 1")])]))
    (circle,) = (mark for mark in svg.iter(f"{SVG}circle") if float(mark.attrib["cx"]) < 900)
    assert 0 < float(circle.attrib["cx"]) < 960
    assert 0 < float(circle.attrib["cy"]) < 480


def test_names_of_many_curves_leave_room() -> None:
    many = [Rates(f"encode {number}", [RatePoint(100 + number, 50, "")]) for number in range(40)]
    texts = [text.text for text in ET.fromstring(rate_plot(many)).iter(f"{SVG}text")]
    assert "and 28 more" in texts
    assert "encode 11" in texts
    assert "encode 12" not in texts


def test_encodes_have_the_colours_of_their_curves() -> None:
    curves = [Rates("x264", [RatePoint(500, 80, "a.mp4"), RatePoint(900, 91, "b.mp4")])]

    def fills(encodes: list[str]) -> list[str]:
        svg = ET.fromstring(rate_plot(curves, encodes=encodes))
        return [mark.attrib["fill"] for mark in svg.iter(f"{SVG}g")][:2]

    assert fills(["b.mp4", "c.mp4", "a.mp4"]) == [COLOURS[2], COLOURS[0]]
    assert fills([]) == [COLOURS[0], COLOURS[0]]
