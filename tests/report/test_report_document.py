"""The report as a document: what a JSON parser makes of the report's text, whatever the figures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from acuity.measure.results import Results
from acuity.report import ReportSource, render_report
from acuity.report.document import as_document, plain

PRECISIONS = ("legacy", "max", "full", "1", "5", "16", "17")
FIGURES = st.floats() | st.sampled_from([0.0, -0.0, 100.0, 1e-7, 1.0000004, 2.0**31 + 1e-7, 1e17, 1e22, 0.5])


def measured(columns: dict[str, NDArray[np.float64]], **undefined: NDArray[np.bool_]) -> Results:
    frames = list(range(len(next(iter(columns.values()), ()))))
    return Results(frames, columns, [], {}, width=576, height=324, fps=123.456, undefined=undefined)


def parsed(source: ReportSource, precision: str, **more: Any) -> Any:
    return json.loads("".join(render_report(source, "json", precision, **more)))


def same(source: ReportSource, precision: str) -> None:
    extra = {"acuity": {"notes": ["é"], "nothing": float("nan"), "depth": 8}}
    found, expected = as_document(source, precision, extra=extra), parsed(source, precision, extra=extra)
    assert json.dumps(found) == json.dumps(expected)  # also the order, and 100 beside 100.0


@given(st.lists(st.tuples(FIGURES, FIGURES, st.booleans()), max_size=8), st.sampled_from(PRECISIONS))
def test_any_figures(rows: list[tuple[float, float, bool]], precision: str) -> None:
    one, other, which = (np.array(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    columns = {"vmaf": np.asarray(one, np.float64), "psnr_y": np.asarray(other, np.float64)}
    undefined = np.isnan(columns["vmaf"]) & np.asarray(which, np.bool_)
    with np.errstate(all="ignore"):
        same(measured(columns, vmaf=undefined), precision)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sources_that_know_less(figures: ReportSource, ragged: ReportSource, precision: str) -> None:
    same(figures, precision)
    same(ragged, precision)
    same(measured({}), precision)


def test_what_json_cannot_say_becomes_null_or_a_question_mark() -> None:
    value = {
        "a": (float("nan"), 1.0),
        3: float("-inf"),
        "b": np.float64("inf"),
        "c": "caf\udce9",
        "d": np.int64(8),
    }
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
