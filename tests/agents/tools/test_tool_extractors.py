"""list_extractors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import acuity
from acuity.agents.tools import extractors
from acuity.features import EXTRACTORS
from scoring_room import Asked


def listed(**arguments: Any) -> dict[str, dict[str, Any]]:
    answer = Asked(extractors.tools).ask("list_extractors", **arguments)
    return {entry["name"]: entry for entry in answer["extractors"]}


def test_the_list_is_brief_until_more_is_asked_for() -> None:
    brief = listed()
    assert set(brief) == set(EXTRACTORS)
    assert {tuple(entry) for entry in brief.values()} == {("name", "backend", "source", "summary")}
    assert len(json.dumps({"extractors": list(brief.values())}, indent=2)) < 5000
    assert set(listed(detail=True)) == set(EXTRACTORS)
    assert listed(detail=True)["vif"] == listed(name="vif")["vif"]
    assert set(listed(name="vif")) == {"vif"}


def test_every_extractor_with_its_source_options_and_features() -> None:
    home = Path(acuity.__file__).parents[1]
    assert all((home / entry["source"]).is_file() for entry in listed().values())
    vif = listed(name="vif")["vif"]
    assert (vif["backend"], vif["source"]) == ("cpu", "acuity/features/vif.py")
    gain = next(option for option in vif["options"] if option["name"] == "vif_enhn_gain_limit")
    about = {
        "name": "vif_enhn_gain_limit",
        "alias": "egl",
        "help": "limit of enhancement gain; 1 allows none",
    }
    bounds = {"type": "float", "default": 100.0, "min": 1.0, "max": 100.0, "choices": None, "in_name": True}
    assert gain == about | bounds
    first = {"name": "VMAF_integer_feature_vif_scale0_score", "key": "integer_vif_scale0"}
    assert vif["provides"][0] == first | {"debug": False, "only_with": None}
    assert {entry["only_with"] for entry in vif["provides"]} == {None, "debug"}


def test_an_extractor_that_is_not_there_is_refused_with_those_that_are() -> None:
    sentence = Asked(extractors.tools).ask("list_extractors", name="viff")["error"]
    assert sentence.startswith("unknown feature extractor 'viff': use one of ")
    assert "vif" in sentence
