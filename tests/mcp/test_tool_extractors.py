"""list_extractors."""

from __future__ import annotations

from pathlib import Path

import acuity
from acuity.features import EXTRACTORS
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
        "in_name": True,
        "help": "limit of enhancement gain; 1 allows none",
    }
    assert vif["provides"][0] == {
        "name": "VMAF_integer_feature_vif_scale0_score",
        "key": "integer_vif_scale0",
        "debug": False,
    }


def test_it_takes_no_arguments() -> None:
    assert "error" in Asked(extractors.tools).ask("list_extractors", name="vif")
