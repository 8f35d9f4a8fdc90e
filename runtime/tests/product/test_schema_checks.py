"""Arguments that are taken to be right without jsonschema are right by jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from effort import examples
from longwire.product.schema_checks import SchemaCheck, schema_check

_NAMES = st.sampled_from(["a", "b", "c"])
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.text(max_size=4),
    st.sampled_from(["x", "y"]),
)
_VALUES = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=2), st.dictionaries(_NAMES, _SCALARS, max_size=2))
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(_TYPES, st.lists(_TYPES, min_size=1, max_size=2, unique=True)),
        "enum": st.lists(_SCALARS, min_size=1, max_size=3),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 3),
        "description": st.just("words"),
        "default": _SCALARS,
        "pattern": st.just("^x"),
        "multipleOf": st.just(2),
        "const": _SCALARS,
        "not": st.just({"type": "string"}),
    },
)
_SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(_NAMES, _PROPERTIES, max_size=3)},
    optional={
        "required": st.lists(_NAMES, max_size=2, unique=True),
        "additionalProperties": st.booleans(),
        "minProperties": st.just(1),
        "description": st.just("words"),
        "if": st.just({"required": ["a"]}),
        "then": st.just({"required": ["b"]}),
    },
)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SCHEMAS, st.dictionaries(_NAMES, _VALUES, max_size=3))
def test_what_is_surely_right_is_right(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    if SchemaCheck(schema).is_surely_right(arguments):
        assert Draft202012Validator(schema).is_valid(arguments)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {}),
        ({"type": "object", "properties": {"a": {"type": "string", "description": "w"}}}, {"a": "x"}),
        (
            {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]},
            {"a": None},
        ),
        ({"type": "object", "properties": {"a": {"type": "number", "minimum": 0, "maximum": 1}}}, {"a": 0.5}),
        ({"type": "object", "properties": {"a": {"enum": ["x", "y"], "default": "x"}}}, {"a": "y"}),
    ],
)
def test_plain_arguments_are_seen_to_be_right(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert SchemaCheck(schema).is_surely_right(arguments)


def test_checks_are_made_once_and_defaults_are_copies() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "default": [1]}}}
    assert schema_check(schema) is schema_check(schema)
    assert schema_check(schema) is not schema_check(dict(schema))
    arguments: dict[str, Any] = {}
    schema_check(schema).fill_in(arguments)
    arguments["a"].append(2)
    assert schema["properties"]["a"]["default"] == [1]  # type: ignore[index]
