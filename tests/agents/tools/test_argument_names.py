"""Arguments by the names of other tools, numbers as text and lists for texts with commas."""

from __future__ import annotations

from typing import Any

import pytest

from acuity.agents.tools.argument_names import accepting
from acuity.agents.tools.scoring_schema import ENCODED_INPUT, RAW_INPUT
from longwire.product.calls import ArgumentError, check
from longwire.product.catalog import Answer, Call, Tool


async def _run(call: Call) -> Answer:
    return {}


def tool(schema: dict[str, Any]) -> Tool:
    return accepting([Tool("score", "Score", "", schema, _run)])[0]


ENCODED, RAW = tool(ENCODED_INPUT), tool(RAW_INPUT)
METRICS = {"type": "array", "items": {"type": "string"}}
NAMED = {"encoders": {"type": "string"}, "target_vmaf": {"type": "number"}, "metrics": METRICS}
TUNE = tool({"type": "object", "properties": NAMED})


@pytest.mark.parametrize("names", [("ref", "dis"), ("reference", "distorted"), ("reference_path", "dist")])
def test_names_of_other_tools(names: tuple[str, str]) -> None:
    found = check(ENCODED, dict(zip(names, "ab", strict=True)))
    assert (found["reference_encoded"], found["distorted_encoded"]) == ("a", "b")
    assert found.given == {"reference_encoded", "distorted_encoded"}


def test_numbers_as_text() -> None:
    given = {"ref": "a", "distorted": "b", "width": "576", "height": 324, "pix_fmt": "420", "bit_depth": "8"}
    found = check(RAW, given)
    assert (found["dis"], found["width"], found["pixfmt"], found["bitdepth"]) == ("b", 576, "420", 8)
    with pytest.raises(ArgumentError, match="invalid width 'wide': should be of type integer"):
        check(RAW, {**given, "width": "wide"})


def test_a_list_where_commas_are_meant() -> None:
    found = check(TUNE, {"encoders": ["libx264", "libx265"], "target": "93.5"})
    assert found == {"encoders": "libx264,libx265", "target_vmaf": 93.5}


def test_commas_where_a_list_is_meant() -> None:
    assert check(TUNE, {"metrics": "vmaf, psnr"})["metrics"] == ["vmaf", "psnr"]
    assert check(TUNE, {"metrics": "vmaf"})["metrics"] == ["vmaf"]
    assert check(TUNE, {"metrics": ["a,b"]})["metrics"] == ["a,b"]


def test_two_names_of_the_same_thing_are_refused() -> None:
    with pytest.raises(ArgumentError, match="has no argument 'ref'"):
        check(ENCODED, {"ref": "a", "reference": "b", "distorted_encoded": "c"})


def test_what_is_missing_and_what_is_unknown_is_said_together() -> None:
    with pytest.raises(ArgumentError) as caught:
        check(RAW, {"ref": "a", "dis": "b", "widht": 5, "height": 5, "pixfmt": "420"})
    assert str(caught.value).startswith(
        "tool 'score' missing required argument: 'width', 'bitdepth', and it has no argument 'widht' "
        "(did you mean 'width'?); it takes: ref, dis,"
    )
