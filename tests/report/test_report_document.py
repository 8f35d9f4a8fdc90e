"""The report as a document: what a JSON parser makes of the report's text, whatever the figures."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acuity.measure.results import Results
from acuity.report.document import plain
from acuity.report.precision import parse_precision
from acuity.report.writers import as_document, report_rows

FIGURES = st.floats() | st.sampled_from([0.0, -0.0, 100.0, 1e-7, 1.0000004, 2.0**31 + 1e-7, 1e17, 1e22, 0.5])


@given(st.lists(FIGURES, max_size=8), st.sampled_from(("legacy", "max", "1", "17")))
def test_rows_are_those_of_the_report(values: list[float], precision: str) -> None:
    columns = {"vmaf": np.array(values, np.float64), "psnr_y": np.arange(len(values)) / 3}
    undefined = {"vmaf": np.isnan(columns["vmaf"]) & (np.arange(len(values)) % 2 == 0)}
    frames = list(range(len(values)))
    results = Results(frames, columns, [], {}, width=576, height=324, fps=123.456, undefined=undefined)
    with np.errstate(all="ignore"):
        document = as_document(results, precision, extra={"acuity": {"nothing": float("nan"), "depth": 8}})
        assert list(report_rows(results, parse_precision(precision))) == document["frames"]
    if precision in ("max", "17"):  # they bring every figure back
        rows = [row["metrics"] for row in document["frames"]]
        assert [row["psnr_y"] for row in rows] == columns["psnr_y"].tolist()
        found = [row["vmaf"] for row in rows if row.get("vmaf") is not None]
        assert found == [value for value in values if np.isfinite(value)]
    assert document["acuity"] == {"nothing": None, "depth": 8}
    assert document["fps"] == 123.46


def test_what_json_cannot_say_becomes_null_or_a_question_mark() -> None:
    value = {"a": (np.nan, 1.0), 3: float("-inf"), "b": np.float64("inf"), "c": "caf\udce9", "d": np.int64(8)}
    assert plain(value) == {"a": [None, 1.0], "3": None, "b": None, "c": "caf?", "d": 8}


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())


@given(
    st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
)
def test_whatever_comes_can_be_written_and_read_again(value: object) -> None:
    found = plain(value)
    text = json.dumps(found, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == found
