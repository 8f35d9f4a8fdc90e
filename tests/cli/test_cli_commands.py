"""`acuity` itself, its listings and its demo."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from acuity.cli import demo
from acuity.cli.main import COMMANDS
from acuity.cli.score_options import GROUPS
from acuity.cli.tune import main as tune_main
from acuity.cli.vmaf.options import FLAGS
from acuity.features import EXTRACTORS
from acuity.models.choose import VIEWINGS, models_for_viewing
from acuity.scoring.metrics import METRICS
from acuity.scoring.presets import PRESETS
from cli_helpers import Cli, encode, moving


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


# ---- The pages in docs/ name every option and every key there is ----


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


# ---- Names of files are printed so that they can't steer a terminal, by every command ----


HOSTILE = "\x1b]0;title\x07\x1b[31mred\r\n\u202e\u2028"  # a title, a bell, a colour, lines, text turned round


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    encode(folder / f"{HOSTILE}ref.mkv", moving(), crf="10")
    encode(folder / f"{HOSTILE}dis.mkv", moving(noise=25), crf="40")
    return folder


def check(shown: str) -> None:
    """Nothing but text and ends of lines, and the name is recognized."""
    odd = {c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert not odd
    assert "\\x1b]0;title\\x07\\x1b[31mred\\r\\n\\u202e\\u2028" in shown


LINES = {
    "score": "score REF DIS",
    "score with itself": "score REF REF",
    "score to a file": "score REF DIS -o HOSTILE.json",
    "score missing": "score REF HOSTILE.none",
    "score a model": "score REF DIS -m path=HOSTILE.none",
    "worst": "worst REF DIS -n 1 -o HOSTILE",
    "worst quiet": "worst REF DIS -n 1 -q -o HOSTILEquiet",
    "compare": "compare REF DIS",
    "compare quiet": "compare REF DIS HOSTILE.none -q",
    "report": "report HOSTILE.none",
    "evaluate": "evaluate HOSTILE.onnx --features HOSTILE.none",
    "features-table": "features-table HOSTILE.none -o HOSTILE.parquet",
    "worker-check": "worker-check HOSTILE.none",
}


@pytest.mark.parametrize("command", LINES)
def test_every_command_of_acuity(
    cli: Cli, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    names = {"REF": f"{HOSTILE}ref.mkv", "DIS": f"{HOSTILE}dis.mkv"}
    words = [names.get(word, word.replace("HOSTILE", HOSTILE)) for word in LINES[command].split()]
    ran = cli.acuity(*words)
    check(ran.out + ran.err)


def test_vmaf(cli: Cli, folder: Path) -> None:
    ref, missing = str(folder / f"{HOSTILE}ref.mkv"), str(folder / f"{HOSTILE}.none")
    ran = cli.vmaf("-r", ref, "-d", ref)
    check(ran.out + ran.err)
    ran = cli.vmaf("-r", ref, "-d", missing)
    check(ran.out + ran.err)


@pytest.mark.parametrize("command", ["search", "compare", "ladder", "tune-per-shot"])
def test_tune(capsys: pytest.CaptureFixture[str], folder: Path, command: str) -> None:
    missing = str(folder / f"{HOSTILE}.none")
    more = ["--resolutions", "64x48", "--target-vmafs", "80"] if command == "ladder" else []
    tune_main([command, "--src", missing, *more])
    shown = capsys.readouterr()
    check(shown.out + shown.err)


# ---- `acuity worker-check`: its table, its document, its exit code, and what it says  ----


_WORKER = Path(__file__).parents[2] / "runtime" / "tests" / "workers" / "small_worker.py"
COMMAND = shlex.join([sys.executable, str(_WORKER)])


def test_a_worker_is_started_and_checked(cli: Cli) -> None:
    ran = cli.acuity("worker-check", "--command", f"{COMMAND} plain", "--only", "ping", "--only", "echo")
    assert ran.code == 0
    first = ran.out.splitlines()[0]
    assert " ".join(first.split()) == "passed ping Each ping is answered by a pong with its id."
    assert "the worker has no tool 'echo'" in ran.out
    assert ran.out.endswith("2 cases: 1 passed, 0 failed, 1 skipped\n")


def test_a_failed_case_is_an_exit_code(cli: Cli) -> None:
    ran = cli.acuity("worker-check", "--command", f"{COMMAND} wrong", "--only", "ids")
    assert ran.code == 1
    assert "a request with the id 7 was answered under 'wrong'" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no worker is named: give the SOCKET that it listens on, or --command"),
        (("x", "--only", "pong"), "'pong' is no case: use one of hello, ping"),
    ],
)
def test_what_can_t_be_checked(cli: Cli, arguments: tuple[str, ...], sentence: str) -> None:
    ran = cli.acuity("worker-check", *arguments)
    assert ran.code != 0
    assert sentence in ran.err
