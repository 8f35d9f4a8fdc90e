"""`acuity` itself, its listings and its demo."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from acuity.cli import demo
from acuity.cli.main import COMMANDS
from acuity.features import EXTRACTORS
from cli_helpers import Cli


@pytest.mark.parametrize("line", [[], ["--help"], ["-h"]])
def test_help_names_every_command(cli: Cli, line: list[str]) -> None:
    ran = cli.acuity(*line)
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_is_its_docstring(cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # in narrower terminals paragraphs are wrapped
    ran = cli.acuity(name, "--help")
    assert ran.code == 0
    doc = importlib.import_module(COMMANDS[name][0]).__doc__
    assert doc
    assert doc in ran.out


@pytest.mark.parametrize(
    "line", [["scores"], ["--nonsense"], ["models", "--nonsense"], ["features", "x", "y"]]
)
def test_unknown_words(cli: Cli, line: list[str]) -> None:
    ran = cli.acuity(*line)
    assert ran.code == 1
    assert ran.err.startswith("acuity: ")
    assert "--help'" in ran.err


def test_models(cli: Cli) -> None:
    assert "vmaf_v0.6.1 " in cli.acuity("models").out
    models = {m["name"]: m for m in json.loads(cli.acuity("models", "--json").out)["models"]}
    assert models["vmaf_v0.6.1"]["usable"]
    assert "1080p television" in models["vmaf_v0.6.1"]["intended_use"]
    assert models["vmaf_v1.0.16_5d0h"]["intended_use"].startswith("VMAF v1: phone")
    assert "VMAF_integer_feature_motion2_score" in models["vmaf_v0.6.1"]["features"]


def test_a_model_that_does_not_load_is_listed_with_the_reason(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.json").write_text("{")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    ran = cli.acuity("models")
    assert ran.code == 0
    assert "not usable" in ran.out
    models = {m["name"]: m for m in json.loads(cli.acuity("models", "--json").out)["models"]}
    assert models["broken"]["problem"]
    assert not models["broken"]["usable"]


def test_features(cli: Cli) -> None:
    listing = cli.acuity("features").out
    assert all(f"  {name} " in listing for name in EXTRACTORS)
    features = json.loads(cli.acuity("features", "--json").out)["features"]
    assert [f["name"] for f in features] == list(EXTRACTORS)


def test_one_feature_with_its_options(cli: Cli) -> None:
    text = cli.acuity("features", "vif").out
    for option in EXTRACTORS["vif"].options:
        assert option.name in text
    assert "1 to 100" in text
    (vif,) = json.loads(cli.acuity("features", "vif", "--json").out)["features"]
    gain = next(o for o in vif["options"] if o["name"] == "vif_enhn_gain_limit")
    assert (gain["alias"], gain["type"], gain["default"], gain["min"]) == ("egl", "float", 100.0, 1.0)


def test_backends(cli: Cli) -> None:
    assert "plain" in cli.acuity("backends").out
    ran = cli.acuity("backends", "--json")
    assert json.loads(ran.out)["backends"][0]["instruction_sets"][-1] == {"name": "plain", "usable": True}
    assert ran.out == cli.vmaf("--list-backends").out


def test_demo(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "FRAMES", 4)
    ran = cli.acuity("demo", "--keep", str(tmp_path))
    assert ran.code == 0, ran.err
    for word in ("VMAF", "p1 ", "worst frames", "kbit/s"):
        assert word in ran.out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["encoded.mp4", "original.mkv"]
