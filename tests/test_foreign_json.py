"""JSON of others: what it says, how it fails, and that a deep text is refused unread."""

from __future__ import annotations

import gc
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.foreign_json import NestedTooDeeply, parse_json

DEEP = ["[" * 100_000, b'{"a":' * 100_000, "[" * 100_000 + "]" * 100_000]
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(documents)
def test_documents_are_read_back(document: object) -> None:
    assert parse_json(json.dumps(document)) == document
    assert parse_json(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("nul", "Expecting value"),
        (b"\xff", "can't decode byte"),
        ("1" * (sys.get_int_max_str_digits() + 1), "Exceeds the limit"),
        (DEEP[0], "nested too deeply"),
    ],
)
def test_whatever_is_wrong_is_a_value_error(text: str | bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)


@pytest.mark.parametrize("text", DEEP)
def test_depth_has_a_name(text: str | bytes) -> None:
    with pytest.raises(NestedTooDeeply, match="nested too deeply"):
        parse_json(text)


@pytest.mark.parametrize("deep", ["[NaN," * 100_000, '{"a":[NaN,' * 251])
def test_nothing_of_a_deep_text_is_built(deep: str) -> None:
    """At its bottom there would be no room for a finalizer that the garbage collector runs."""
    with pytest.raises(NestedTooDeeply):
        parse_json(deep, parse_constant=pytest.fail)


def test_brackets_beside_each_other_and_in_strings_are_not_deep() -> None:
    document = [[[]], {"a": "[{" * 600 + '\\"['}] * 600
    assert parse_json(json.dumps(document)) == document
    assert parse_json("[" * 500 + "]" * 500)


def test_the_garbage_collector_is_left_alone() -> None:
    assert parse_json("[NaN]", parse_constant=lambda _: gc.isenabled()) == [True]
