"""list_extractors."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import acuity
from acuity.features import EXTRACTORS, Option
from acuity.mcp.tools import extractors
from info_server import Asked, check_tools


def test_the_tool_introduces_itself() -> None:
    check_tools(Asked(extractors.tools).listed(), ["list_extractors"])


def test_every_extractor_with_its_source_options_and_features() -> None:
    listed = {entry["name"]: entry for entry in Asked(extractors.tools).ask("list_extractors")["extractors"]}
    assert set(listed) == set(EXTRACTORS)
    home = Path(acuity.__file__).parents[1]
    assert all((home / entry["source"]).is_file() for entry in listed.values())
    vif = listed["vif"]
    assert (vif["backend"], vif["source"]) == ("cpu", "acuity/features/vif.py")
    gain = next(option for option in vif["options"] if option["name"] == "vif_enhn_gain_limit")
    assert gain == {
        "name": "vif_enhn_gain_limit",
        "alias": "egl",
        "type": "float",
        "default": 100.0,
        "min": 1.0,
        "max": 100.0,
        "choices": None,
        "in_name": True,
        "help": "limit of enhancement gain; 1 allows none",
    }
    assert vif["provides"][0] == {
        "name": "VMAF_integer_feature_vif_scale0_score",
        "key": "integer_vif_scale0",
        "debug": False,
        "only_with": None,
    }
    assert {entry["only_with"] for entry in vif["provides"]} == {None, "debug"}


def test_texts_and_numbers_without_a_limit_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    options = (
        Option("how", "h", "text", "near", choices=("near", "far"), help="which way"),
        Option("where", "", "text", "", named=False, help="anything"),
        Option("much", "", "float", 0.0, 0.0, math.inf, named=False, help="as much as you like"),
    )
    monkeypatch.setattr(EXTRACTORS["vif"], "options", options)
    listed = {entry["name"]: entry for entry in Asked(extractors.tools).ask("list_extractors")["extractors"]}
    how, where, much = listed["vif"]["options"]
    assert (how["type"], how["default"], how["choices"], how["min"]) == (
        "text",
        "near",
        ["near", "far"],
        None,
    )
    assert (where["default"], where["choices"]) == ("", None)
    assert (much["min"], much["max"]) == (0.0, None)


def test_it_takes_no_arguments() -> None:
    assert "error" in Asked(extractors.tools).ask("list_extractors", name="vif")
