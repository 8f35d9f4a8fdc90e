"""Reports read back: what was written comes out again, and what is no report is refused with one sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity import __version__
from acuity.errors import InputError
from acuity.report import render_report
from acuity.report.page.score_page import score_page
from acuity.report.read_report import parse_report, read_report
from acuity.report.stored_report import StoredReport

FRAMES = [0, 1, 5]
VALUES = {"psnr_y": [38.173111, math.nan, 40.5], "vmaf": [64.514499, 12.25, 99.0]}


def _source() -> StoredReport:
    columns = {name: np.array(values) for name, values in VALUES.items()}
    pooled = {"vmaf": {"min": 12.25, "max": 99.0, "mean": 58.588166, "harmonic_mean": 29.5}}
    return StoredReport(FRAMES, columns, {"axpsnr_w": 33.25}, 640, 360, 25.0, pooled)


ABOUT: dict[str, Any] = {
    "version": "0.1.0",
    "notes": [{"level": "warning", "code": "steered", "text": "a < b & 'c'"}],
    "partial": {"frames": 3, "of": 60, "why": "interrupted"},
}


@pytest.mark.parametrize("format", ["json", "xml", "csv"])
def test_what_was_written_is_read(format: str) -> None:
    text = "".join(render_report(_source(), format, extra={"acuity": ABOUT}))
    found = parse_report(text.encode(), "report")
    assert found.source is not None
    assert found.source.frames == FRAMES
    for name, values in VALUES.items():
        np.testing.assert_array_equal(found.source.columns[name], values)
    if format != "csv":  # which has no place for them
        assert found.source.pooled()["vmaf"]["mean"] == 58.588166
        assert found.source.aggregate == {"axpsnr_w": 33.25}
        assert {key: found.extra["acuity"][key] for key in ABOUT} == ABOUT


def test_a_document_with_frames(tmp_path: Path) -> None:
    document = {
        "schema": "acuity.score/1",
        "version": "0.1.0",
        "models": [{"name": "vmaf", "label": "vmaf_v0.6.1"}],
        "per_frame": {"frame": FRAMES, "vmaf": [1.5, None, 3]},
    }
    path = tmp_path / "score.json"
    path.write_text(json.dumps(document))
    source, extra = read_report(path)
    assert source is not None
    assert (source.models, source.model_labels) == (["vmaf"], {"vmaf": "vmaf_v0.6.1"})
    np.testing.assert_array_equal(source.columns["vmaf"], [1.5, math.nan, 3.0])
    assert extra == {"acuity": {"version": "0.1.0"}}


def test_figures_that_are_not_finite() -> None:
    rows = '{"frames": [{"frameNum": 0, "metrics": {"a": NaN, "b": 1e999, "c": null, "d": 1%s}}]}' % (
        "0" * 400
    )
    # The second and third are how C prints it.
    for text in (rows, rows.replace("NaN", "-nan"), rows.replace("1e999", "inf")):
        source = parse_report(text.encode(), "report").source
        assert source is not None
        figures = [float(values[0]) for values in source.columns.values()]
        np.testing.assert_array_equal(figures, [math.nan, math.inf, math.nan, math.inf])


def test_xml_of_libvmaf_1() -> None:
    text = """<VMAF version="1.3.15"><params model="vmaf_v0.6.1.pkl" scaledWidth="576" scaledHeight="324"/>
        <fyi numOfFrames="1" aggregateVMAF="76.5" execFps="31.5"/>
        <frames><frame frameNum="0" adm2="0.9" vmaf="76.5"/></frames></VMAF>"""
    found = parse_report(text.encode(), "old.xml")
    assert found.source is not None
    assert (found.source.width, found.source.height, found.source.fps) == (576, 324, 31.5)
    page = score_page(found.source, found.extra)
    assert page.cards[0].detail == "vmaf_v0.6.1.pkl, mean of 1 frame"
    facts = dict(page.facts)
    assert (facts["compared"], facts["computed by"]) == ("at 576x324", "31.5 fps")
    assert facts["versions"] == f"measured by libvmaf 1.3.15; page made by acuity {__version__}"
    unknown = parse_report(text.replace("scaled", "some").encode(), "old.xml").source
    assert unknown is not None
    assert (unknown.width, unknown.height) == (0, 0)


FRAME = '{"frames": [{"frameNum": %s, "metrics": %s}]}'
BAD = {
    "": "is empty",
    "hello": "nor CSV with a first column 'Frame'",
    "<!doctype html><html>": "is a page: open it in a browser",
    "{0}{1}frame: 0|vmaf: 91.5|": "has subtitles (vmaf --sub), not a report",
    "[1, 2]": "it is JSON, but no object",
    "{}": "it has no 'frames'",
    '{"frames": 3}': "its 'frames' are no list",
    '{"frames": [3]}': "entry 0 of its 'frames' has no 'metrics'",
    '{"frames": [{"frameNum": 0, "metr': "its JSON is cut off or damaged in line 1",
    "[" * 100_000: "its JSON has lists or objects inside each other",
    '{"frames": ' + "[" * 200_000 + "]" * 200_000 + "}": "its JSON has lists or objects inside each other",
    '{"frames": [], "n": ' + "1" * 5000 + "}": "its JSON has a number of more than 4300 digits",
    '{"schema": "acuity.score/2"}': "'acuity.score/2', and this version knows acuity.score/1",
    '{"schema": "acuity.score/1"}': "no figures of frames: print it with --per-frame",
    '{"schema": "acuity.score/1", "per_frame": {"frame": [0], "vmaf": []}}': "column 'vmaf' has not",
    FRAME % ('"0"', "{}"): "has the number '0', which is none",
    FRAME % ("-1", "{}"): "has the number -1, which is none",
    FRAME % ("true", "{}"): "has the number True, which is none",
    FRAME % ("7", '{"vmaf": "9"}'): "'vmaf' of frame 7 is '9', which is no number",
    FRAME % ("7", '{"vmaf": [9]}'): "'vmaf' of frame 7 is [9], which is no number",
    "<page></page>": "its first element is <page>, not <VMAF>",
    "<VMAF><frames>": "its XML is cut off or damaged in line 1",
    '<!DOCTYPE a [<!ENTITY b "c">]><VMAF/>': "declares a document type",
    '<VMAF><frame frameNum="x"/></VMAF>': "'frameNum' is 'x', which is no whole number",
    '<VMAF><frame frameNum="1" vmaf="x"/></VMAF>': "'vmaf' is 'x', which is no number",
    '<VMAF><params qualityWidth=""/></VMAF>': "'qualityWidth' is '', which is no whole number",
    "Frame,a,\n0,1,2,3,4,\n": "line 2 has 6 fields where the first has 3",
    "Frame,a,a,\n": "two of its columns have the same name",
    "Frame,a,\n0,x,\n": "'a' is 'x', which is no number",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_report(text.encode(), "x.json")
    said = str(raised.value)
    assert "'x.json'" in said
    assert BAD[text] in said
    assert "\n" not in said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*gone.json' cannot be read: No such file"):
        read_report(tmp_path / "gone.json")
    with pytest.raises(InputError, match="cannot be read: it is a folder; pass a JSON"):
        read_report(tmp_path)
    (tmp_path / "video").write_bytes(b"\x00\xff\xfe" * 100)
    with pytest.raises(InputError, match="is no report"):
        read_report(tmp_path / "video")
