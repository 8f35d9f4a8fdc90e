"""Results carry a document twice, as structured content and as JSON text; errors are text alone."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from longwire.product.results import (
    answer,
    failure,
    finite,
    fits,
    ordered_answer,
    to_ordered_text,
    to_text,
    visible,
    without_frames,
)
from tool_results import text_of

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_keys_are_sorted_and_infinities_null() -> None:
    result = answer({"b": math.inf, "a": [math.nan, 1.5]})
    assert text_of(result) == '{\n  "a": [\n    null,\n    1.5\n  ],\n  "b": null\n}'
    assert result.structured_content == {"a": [None, 1.5], "b": None}
    assert not result.is_error


@pytest.mark.parametrize("made", [answer, ordered_answer])
def test_characters_that_turn_or_hide_text_are_escaped_in_the_text(made: Any) -> None:
    document = {"name": "a\u202egpj.exe\x9b2J\x7f\u2028\ufeff\U000e0041ü"}
    result = made(document)
    assert "a\\u202egpj.exe\\u009b2J\\u007f\\u2028\\ufeff\\udb40\\udc41ü" in text_of(result)
    assert json.loads(text_of(result)) == document == result.structured_content


def test_ordered_text_keeps_the_order_and_puts_plain_members_on_one_line() -> None:
    many = list(range(40))
    result = ordered_answer({"score": math.nan, "rows": [[1, "ü"], many], "about": {"b": 1, "a": {}}})
    assert text_of(result) == (
        '{\n  "score": null,\n  "rows": [\n    [1, "ü"],\n    '
        + json.dumps(many)
        + '\n  ],\n  "about": {"b": 1, "a": {}}\n}'
    )


def test_errors_are_marked_and_have_a_body() -> None:
    result = failure("no\nsuch 'file'")
    assert result.is_error
    assert json.loads(text_of(result)) == {"error": "no\\nsuch 'file'"}
    assert result.structured_content is None


@given(st.dictionaries(st.text(), DOCUMENTS))
def test_every_document_is_strict_json(document: dict[str, Any]) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    result = answer(document)
    assert json.loads(text_of(result), parse_constant=refuse) == result.structured_content
    assert to_text(finite(document)) == text_of(result)
    ordered = json.loads(to_ordered_text(finite(document)), parse_constant=refuse)
    assert ordered == result.structured_content
    assert list(ordered) == list(document)


# ---- the text is what Python's json writes ------------------------------------------------------


def by_json(document: Any) -> str:
    return visible(
        json.dumps(finite(document), indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False)
    )


@given(DOCUMENTS)
def test_any_document(document: Any) -> None:
    assert to_text(document) == by_json(document)


@pytest.mark.parametrize("number", [1e15, 1e16, 1e17, 1e-3, 1e-4, 1.5e-5, 1e-7, 5e-324, 1e308, -0.0, 0.1])
def test_any_number(number: float) -> None:
    assert to_text({"a": number, "b": [-number]}) == by_json({"a": number, "b": [-number]})


def test_a_long_document_is_not_indented() -> None:
    short, long = {"frames": list(range(3_500))}, {"frames": list(range(20_000))}
    assert to_text(short) == by_json(short)
    assert to_text(long) == json.dumps(long)


# ---- answers never outgrow what clients take, and always say where the rest is ------------------

CLIENTS_TAKE = 1 << 20


def document(frames: int, names: int = 15) -> dict[str, Any]:
    metrics = {f"integer_vif_scale_{name}": 12.345678 + name for name in range(names)}
    rows = [{"frameNum": number, "metrics": metrics} for number in range(frames)]
    return {"frames": rows, "pooled_metrics": {}, "report": "acuity://reports/1"}


def on_the_wire(found: dict[str, Any]) -> int:
    return len(answer(found).model_dump_json(by_alias=True).encode())


# Where one doesn't fit, each step to a smaller one that doesn't would take as long as all the rest.
@settings(phases=[Phase.generate])
@given(st.integers(1, 3000), st.integers(1, 40))
def test_answers_fit_into_a_message(frames: int, names: int) -> None:
    whole = document(frames, names)
    if fits(frames, whole["frames"][0]):
        assert on_the_wire(whole) < CLIENTS_TAKE
    assert on_the_wire(without_frames(whole, frames)) < CLIENTS_TAKE


def test_what_is_left_out_can_be_found() -> None:
    whole = document(5000)
    assert not fits(5000, whole["frames"][0])
    found = without_frames(whole, 5000)
    assert found["frames"] == []
    assert len(whole["frames"]) == 5000  # the document itself stays as it is
    assert found["frames_omitted"]["count"] == 5000
    remedy = found["frames_omitted"]["remedy"]
    assert "read acuity://reports/1?frames=0-499 or acuity://reports/1.csv?frames=0-499" in remedy
    assert json.loads(answer(found).content[0].text) == found  # type: ignore[union-attr]
