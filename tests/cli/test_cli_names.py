"""Names of files are printed so that they can't steer a terminal, by every command that prints one."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from acuity.cli.tune import main as tune_main
from cli_helpers import Cli, encode, moving

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


COMMANDS = {
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


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_acuity(
    cli: Cli, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    names = {"REF": f"{HOSTILE}ref.mkv", "DIS": f"{HOSTILE}dis.mkv"}
    words = [names.get(word, word.replace("HOSTILE", HOSTILE)) for word in COMMANDS[command].split()]
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
