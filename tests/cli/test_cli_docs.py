"""The pages in docs/ name every option and every key there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.main import COMMANDS
from acuity.cli.score_options import GROUPS
from acuity.cli.vmaf.options import FLAGS
from acuity.models.choose import VIEWINGS, models_for_viewing
from acuity.scoring.metrics import METRICS
from acuity.scoring.presets import PRESETS
from cli_helpers import Cli

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def commands() -> str:
    return (DOCS / "cli.md").read_text()


@pytest.fixture(scope="module")
def output() -> str:
    return (DOCS / "output.md").read_text()


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.long)
def test_options_of_vmaf(commands: str, flag: Any) -> None:
    part = commands[: commands.index("## `acuity score")]
    assert re.search(rf"`--{flag.long}\b", part)
    if flag.short:
        assert f"`-{flag.short}`" in part


@pytest.mark.parametrize("names", [names for group in GROUPS.values() for names, _ in group])
def test_options_of_score(commands: str, names: tuple[str, ...]) -> None:
    part = commands[commands.index("## `acuity score") :]
    for name in names:
        assert re.search(rf"`{name}\b", part)


def test_metrics_and_ways_of_watching(commands: str) -> None:
    for metric in METRICS.values():
        begins = f"| `{metric.name}` | {metric.help} | "
        row = next((line for line in commands.splitlines() if line.startswith(begins)), "no such row")
        assert row.startswith(begins)
        assert f"`{metric.key}`" in row or not metric.key
        assert row.endswith(f"| {metric.better} |")
    for name, viewing in VIEWINGS.items():
        model, _ = models_for_viewing(name)
        assert f"| `{name}` | `{model}` | {viewing.seen} |" in commands


@pytest.mark.parametrize(
    ("preset", "version"), [(family, version) for family in PRESETS for version in PRESETS[family]]
)
def test_presets(commands: str, preset: str, version: str) -> None:
    assert f"`--{preset}" in commands
    assert all(
        f"`{feature}`" in commands or "scale=1" in feature for feature in PRESETS[preset][version].features
    )


def test_commands(commands: str) -> None:
    assert all(f"`acuity {name}" in commands for name in COMMANDS)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        inner = (_keys(entry) for entry in value.values())
        return set(value).union(*inner)
    if isinstance(value, list):
        return set().union(*map(_keys, value))
    return set()


@pytest.mark.parametrize("line", [["models"], ["features"], ["backends"]])
def test_keys_of_lists(cli: Cli, output: str, line: list[str]) -> None:
    document = json.loads(cli.acuity(*line, "--json").out)
    assert document["schema"] in output
    missing = [key for key in _keys(document) if f"`{key}`" not in output and f'"{key}"' not in output]
    assert missing == []


def test_keys_of_a_score(cli: Cli, output: str, clips: Path) -> None:
    line = ["score", str(clips / "ref.y4m"), str(clips / "ref.y4m"), "--json", "--per-frame", "--pool", "p5"]
    line += ["--metrics", "vmaf,psnr"]
    document = json.loads(cli.acuity(*line).out)
    for names in ("features", "per_frame", "computed_by"):  # their keys are names of features and extractors
        del document[names]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", output))))
    assert _keys(document) - words == set()
