"""The extractor that gives nothing, through every door; and moments of large sums."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from acuity.cli.vmaf import main
from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat
from seeded import figures, pair


def test_it_gives_nothing() -> None:
    assert figures("null", *pair(8, 8, "420", 8)) == {}


def test_frames_are_counted_all_the_same() -> None:
    with Measurement(threads=2) as measurement:
        measurement.add_feature("null")
        for _ in range(3):
            measurement.add(*pair(8, 8, "420", 8))
        measurement.flush()
        results = measurement.results()
    assert results.frames == [0, 1, 2]
    assert (results.columns, results.pooled(), results.aggregate) == ({}, {}, {})


def check_json(text: str) -> None:
    report = json.loads(text)
    assert (report["frames"], report["pooled_metrics"], report["aggregate_metrics"]) == ([], {}, {})


def check_xml(text: str) -> None:
    report = ElementTree.fromstring(text)
    empty = ["params", "fyi", "frames", "pooled_metrics", "aggregate_metrics", "acuity"]
    assert [(part.tag, len(part)) for part in report] == [(name, 0) for name in empty]


def check_csv(text: str) -> None:
    assert text == "Frame,\n"


def check_sub(text: str) -> None:
    assert text == ""


@pytest.mark.parametrize(
    ("kind", "check"), [("json", check_json), ("xml", check_xml), ("csv", check_csv), ("sub", check_sub)]
)
def test_reports_are_empty_and_whole(kind: str, check: Callable[[str], None], tmp_path: Path) -> None:
    for name, picture in zip(("ref", "dis"), pair(16, 8, "420", 8), strict=True):
        (tmp_path / name).write_bytes(b"".join(plane.tobytes() for plane in picture.planes) * 2)
    report = tmp_path / "report"
    inputs = ["-r", str(tmp_path / "ref"), "-d", str(tmp_path / "dis")]
    geometry = ["-w", "16", "-h", "8", "-p", "420", "-b", "8"]
    request = ["--no_prediction", "--feature", "null", f"--{kind}", "-o", str(report), "-q"]
    assert main([*inputs, *geometry, *request]) == 0
    check(report.read_text())


# ---- moments ----


@pytest.mark.parametrize("depth", [8, 10, 12, 14, 16])
def test_large_sums_are_exact(depth: int) -> None:
    peak = (1 << depth) - 1
    dtype = np.uint8 if depth == 8 else np.uint16
    white, black = (
        Picture((np.full((70, 1000), value, dtype),), PixelFormat("400", depth)) for value in (peak, 0)
    )
    found = list(figures("float_moment", white, black).values())
    mean = peak / 2 ** (depth - 8)
    square = float(np.float32(mean) * np.float32(mean))
    assert found == [mean, 0.0, square, 0.0]
