"""Arguments are checked against a tool's schema, with one sentence for what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from longwire.product.calls import MAX_DEPTH, ArgumentError, check, shown
from longwire.product.catalog import Tool
from longwire.product.schema_checks import schema_check

SCHEMA = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "minLength": 1},
        "width": {"type": "integer", "minimum": 1, "maximum": 99},
        "pixfmt": {"type": "string", "enum": ["420", "444"], "default": "420"},
        "feature": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "default": []},
        "tree": {"type": "object"},
    },
    "required": ["ref"],
    "additionalProperties": False,
}


TOOL = Tool("measure", "Measure", "", SCHEMA, lambda call: {})


def test_defaults_are_filled_in() -> None:
    check(TOOL, {"ref": "a"})["feature"].append("vif")  # a call's own: the next has it empty
    assert check(TOOL, {"ref": "a"}) == {"ref": "a", "pixfmt": "420", "feature": []}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "tool 'measure' missing required argument: 'ref'"),
        ({}, "tool 'measure' missing required argument: 'ref'"),
        ({"ref": "a", "q": 1}, "tool 'measure' has no argument 'q'; it takes: ref, width, pixfmt"),
        ({"ref": 1}, "invalid ref 1: should be of type string"),
        ({"ref": ""}, "invalid ref '': should not be empty"),
        ({"ref": None}, "invalid ref null: should be of type string"),
        ({"ref": [True, None, {"a": 1}]}, 'invalid ref [true, null, {"a": 1}]: should be of type string'),
        ({"ref": "a", "width": "12"}, "invalid width '12': should be of type integer"),
        ({"ref": "a", "width": True}, "invalid width true: should be of type integer"),
        ({"ref": "a", "width": 1.5}, "invalid width 1.5: should be of type integer"),
        ({"ref": "a", "width": math.inf}, "width (a number too large for a double): should be of type"),
        ({"ref": "a", "width": 0}, "invalid width 0: should be 1 or more"),
        ({"ref": "a", "width": 100}, "invalid width 100: should be 99 or less"),
        ({"ref": "a", "pixfmt": "411"}, "invalid pixfmt '411': use one of '420', '444'"),
        ({"ref": "a", "feature": [1]}, "invalid feature.0 1: should be of type string"),
        ({"ref": "a", "feature": ["a", "b", "c"]}, "should have at most 2 entries"),
        ({"ref": "a", "feature": [1] * 9000}, "should have at most 2 entries"),  # before any of them
        ({"ref": ["x" * 500]}, "…: should be of type string"),
        ({"ref": {"a": [10**110, -(10**4000)]}}, '{"a": [(an integer of more than 100 digits), (an int'),
    ],
)
def test_one_sentence_says_what_is_wrong(given: dict[str, Any] | None, sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        check(TOOL, given)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 200


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


class Untouched(list[Any]):
    """A list whose entries nobody may look at, beyond the first few."""

    def __iter__(self) -> Iterator[Any]:
        for number, item in enumerate(super().__iter__()):
            assert number < 100, "more is looked at than is shown"
            yield item


@pytest.mark.parametrize("value", [Untouched([1] * 1000), {"a": Untouched([{}] * 1000)}])
def test_no_more_of_a_bad_value_is_looked_at_than_is_shown(value: Any) -> None:
    assert len(shown(value)) == 81
    error = next(schema_check(SCHEMA).errors({"ref": value}))
    assert (error.absolute_path, error.validator) == (("ref",), "type")


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 900])
def test_deep_arguments_are_refused(depth: int) -> None:
    with pytest.raises(ArgumentError, match="nested deeper than 50 levels"):
        check(TOOL, {"ref": "a", "tree": _nested(depth)})


def test_arguments_of_the_allowed_depth_pass() -> None:
    tree = {"a": _nested(MAX_DEPTH - 2)}
    assert check(TOOL, {"ref": "a", "tree": tree})["tree"] == tree
