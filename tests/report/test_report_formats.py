"""The four formats, byte for byte as libvmaf writes them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from acuity.errors import OutputError
from acuity.report import render_report
from acuity.report.stored_report import StoredReport


def render(source: Any, format: str, precision: str = "legacy", **options: Any) -> str:
    return "".join(render_report(source, format, precision, version="3.2.0", **options))


JSON = """{
  "version": "3.2.0",
  "fps": 123.46,
  "frames": [
    {
      "frameNum": 0,
      "metrics": {
        "integer_adm2": 0.962084,
        "integer_motion2": 0.000000,
        "vmaf": 76.668305
      }
    },
    {
      "frameNum": 1,
      "metrics": {
        "integer_adm2": 1.0000004000000000,
        "integer_motion2": 3.500000,
        "vmaf": 100.000000
      }
    }
  ],
  "pooled_metrics": {
    "integer_adm2": {
      "min": 0.962084,
      "max": 1.0000004000000000,
      "mean": 0.980000,
      "harmonic_mean": 0.970000
    },
    "vmaf": {
      "min": 76.668305,
      "max": 100.000000,
      "mean": 88.000000,
      "harmonic_mean": 87.000000
    }
  },
  "aggregate_metrics": {
    "apsnr_y": 34.500000,
    "apsnr_cb": 0.0000005000000000
  }
}
"""

XML = """<VMAF version="3.2.0">
  <params qualityWidth="576" qualityHeight="324" />
  <fyi fps="123.46" />
  <frames>
    <frame frameNum="0" integer_adm2="0.962084" integer_motion2="0.000000" vmaf="76.668305" />
    <frame frameNum="1" integer_adm2="1.0000004000000000" integer_motion2="3.500000" vmaf="100.000000" />
  </frames>
  <pooled_metrics>
    <metric name="integer_adm2" min="0.962084" max="1.0000004000000000" mean="0.980000" harmonic_mean="0.970000" />
    <metric name="vmaf" min="76.668305" max="100.000000" mean="88.000000" harmonic_mean="87.000000" />
  </pooled_metrics>
  <aggregate_metrics apsnr_y="34.500000" apsnr_cb="0.0000005000000000" />
</VMAF>
"""  # noqa: E501

CSV = """Frame,integer_adm2,integer_motion2,vmaf,
0,0.962084,0.000000,76.668305,
1,1.0000004000000000,3.500000,100.000000,
"""

SUB = """{0}{1}frame: 0|integer_adm2: 0.962084|integer_motion2: 0.000000|vmaf: 76.668305|
{1}{2}frame: 1|integer_adm2: 1.0000004000000000|integer_motion2: 3.500000|vmaf: 100.000000|
"""


@pytest.mark.parametrize(("format", "expected"), [("json", JSON), ("xml", XML), ("csv", CSV), ("sub", SUB)])
def test_legacy_precision(format: str, expected: str, figures: Any) -> None:
    assert render(figures, format) == expected


@pytest.mark.parametrize(
    ("precision", "adm", "vmaf"),
    [
        *((word, "0.96208419999999994", "76.668305200000006") for word in ("max", "full", "17")),
        ("3", "0.962", "76.7"),
        ("1", "1", "8e+01"),
    ],
)
def test_significant_digits(precision: str, adm: str, vmaf: str, figures: Any) -> None:
    assert render(figures, "csv", precision).splitlines()[1] == f"0,{adm},0,{vmaf},"
    document = json.loads(render(figures, "json", precision))
    assert document["frames"][0]["metrics"]["vmaf"] == float(vmaf)
    assert document["fps"] == 123.46


@pytest.mark.parametrize("precision", ["", "0", "18", "-1", "1.5", "LEGACY", "six"])
def test_unknown_precision(precision: str, figures: Any) -> None:
    with pytest.raises(OutputError, match="precision"):
        render(figures, "json", precision)


def test_missing_and_infinite_figures_in_json(ragged: Any) -> None:
    document = json.loads(render(ragged, "json"))
    assert document["fps"] is None
    assert document["frames"] == [
        {"frameNum": 3, "metrics": {"b": 2.0}},
        {"frameNum": 5, "metrics": {"a": 1.0, "b": None}},
    ]
    assert document["pooled_metrics"] == {"a": {}, "b": {"min": 2.0, "max": None}}
    assert document["aggregate_metrics"] == {"c": None}


def test_missing_and_infinite_figures_elsewhere(ragged: Any) -> None:
    assert render(ragged, "csv") == "Frame,a,b,\n3,,2.000000,\n5,1.000000,inf,\n"
    assert render(ragged, "sub") == "{3}{4}frame: 3|b: 2.000000|\n{5}{6}frame: 5|a: 1.000000|b: inf|\n"
    root = ElementTree.fromstring(render(ragged, "xml"))
    assert [frame.attrib for frame in root.iter("frame")] == [
        {"frameNum": "3", "b": "2.000000"},
        {"frameNum": "5", "a": "1.000000", "b": "inf"},
    ]


def test_nothing_measured() -> None:
    figures = StoredReport([], {})
    document = json.loads(render(figures, "json"))
    assert (document["frames"], document["pooled_metrics"], document["aggregate_metrics"]) == ([], {}, {})
    assert ElementTree.fromstring(render(figures, "xml")).tag == "VMAF"
    assert render(figures, "csv") == "Frame,\n"
    assert render(figures, "sub") == ""


def test_extras_follow_libvmafs_keys(figures: Any) -> None:
    extra = {"score_format": {"bits": np.int64(8), "ratio": float("nan")}, "notes": ("scaled",), "é": 'a"b'}
    text = render(figures, "json", extra=extra)
    document = json.loads(text)
    assert list(document)[:5] == ["version", "fps", "frames", "pooled_metrics", "aggregate_metrics"]
    assert document["score_format"] == {"bits": 8, "ratio": None}
    assert (document["notes"], document["é"]) == (["scaled"], 'a"b')
    assert text.startswith(JSON.removesuffix("\n}\n"))


def test_long_reports_are_complete() -> None:
    frames = 20_000
    random = np.random.default_rng(1)
    columns = {f"feature_{index}": random.random(frames) for index in range(15)}
    columns["feature_3"][777] = 1e-9
    figures = StoredReport([*range(0, 3 * frames, 3)], columns)
    lines = render(figures, "csv").splitlines()
    assert len(lines) == frames + 1
    assert lines[778].split(",")[0] == str(3 * 777)
    assert "0.0000000010000000" in lines[778]
    values = np.array([line.split(",")[1:-1] for line in lines[1:]], float)
    np.testing.assert_allclose(values, np.column_stack(list(columns.values())), rtol=0, atol=5.1e-7)
