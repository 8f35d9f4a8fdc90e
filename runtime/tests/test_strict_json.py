"""JSON of clients: what all readers take alike, how it fails, and that a deep text is refused unread."""

from __future__ import annotations

import json
import sys

import pytest

from longwire.foreign_json import NestedTooDeeply, has_longer_number, parse_json, parse_strictly

DEEP = ["[" * 100_000, b'{"a":' * 100_000, "[" * 100_000 + "]" * 100_000]


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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 1}', "'a' comes twice"),
        (b'{"a": [{"b": 1, "b": 2}]}', "'b' comes twice"),
        (b"[NaN]", "NaN is no JSON"),
        (b"-Infinity", "-Infinity is no JSON"),
        ('"é"'.encode("latin-1"), "can't decode byte"),
        ('"é"'.encode("utf-16"), "can't decode byte"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_readers_could_take_differently_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_strictly(text)


def test_strict_documents_are_read() -> None:
    assert parse_strictly('{"a": [1, 2.5, null, "é"]}'.encode()) == {"a": [1, 2.5, None, "é"]}


@pytest.mark.parametrize("deep", ["[NaN," * 100_000, '{"a":[NaN,' * 251])
def test_nothing_of_a_deep_text_is_built(deep: str) -> None:
    """At its bottom there would be no room for a finalizer that the garbage collector runs."""
    with pytest.raises(NestedTooDeeply):
        parse_json(deep, parse_constant=pytest.fail)


def test_brackets_beside_each_other_and_in_strings_are_not_deep() -> None:
    document = [[[]], {"a": "[{" * 600 + '\\"['}] * 600
    assert parse_json(json.dumps(document)) == document
    assert parse_json("[" * 500 + "]" * 500)


@pytest.mark.parametrize("before", range(12))
def test_long_numbers_are_found_wherever_they_stand(before: int) -> None:
    start = b"[" + b" " * before
    assert not has_longer_number(start + b"1234567,1.234567]", 7)
    assert has_longer_number(start + b"7,12345678]", 7)
    assert has_longer_number(start + b"1.234567890]", 7)
    assert not has_longer_number(start + rb'"1234567890","\"1234567890"]', 7), "digits of a text"
