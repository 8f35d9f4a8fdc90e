"""Results carry a document twice, as structured content and as JSON text; errors are text alone."""

from __future__ import annotations

import json
import math
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.product.results import (
    answer,
    failure,
    finite,
    ordered_answer,
    to_ordered_text,
    to_text,
    visible,
)

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def _text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def test_keys_are_sorted_and_infinities_null() -> None:
    result = answer({"b": math.inf, "a": [math.nan, 1.5]})
    assert _text(result) == '{\n  "a": [\n    null,\n    1.5\n  ],\n  "b": null\n}'
    assert result.structured_content == {"a": [None, 1.5], "b": None}
    assert not result.is_error


@pytest.mark.parametrize("made", [answer, ordered_answer])
def test_characters_that_turn_or_hide_text_are_escaped_in_the_text(made: Any) -> None:
    document = {"name": "a\u202egpj.exe\x9b2J\x7f\u2028\ufeff\U000e0041ü"}
    result = made(document)
    assert "a\\u202egpj.exe\\u009b2J\\u007f\\u2028\\ufeff\\udb40\\udc41ü" in _text(result)
    assert json.loads(_text(result)) == document == result.structured_content


def test_ordered_text_keeps_the_order_and_puts_plain_members_on_one_line() -> None:
    many = list(range(40))
    result = ordered_answer({"score": math.nan, "rows": [[1, "ü"], many], "about": {"b": 1, "a": {}}})
    assert _text(result) == (
        '{\n  "score": null,\n  "rows": [\n    [1, "ü"],\n    '
        + json.dumps(many)
        + '\n  ],\n  "about": {"b": 1, "a": {}}\n}'
    )


def test_errors_are_marked_and_have_a_body() -> None:
    result = failure("no\nsuch 'file'")
    assert result.is_error
    assert json.loads(_text(result)) == {"error": "no\\nsuch 'file'"}
    assert result.structured_content is None


@given(st.dictionaries(st.text(), DOCUMENTS))
def test_every_document_is_strict_json(document: dict[str, Any]) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    result = answer(document)
    assert json.loads(_text(result), parse_constant=refuse) == result.structured_content
    assert to_text(finite(document)) == _text(result)
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
