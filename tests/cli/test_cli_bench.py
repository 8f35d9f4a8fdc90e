"""`acuity bench`: its table, its JSON document, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from acuity.cli.exits import INTERRUPTED
from acuity.errors import BackendError
from acuity.measure import available_threads
from acuity.scoring import speed
from cli_helpers import Cli

pytestmark = pytest.mark.usefixtures("without_cuda")

SMALL = ("bench", "--size", "224x160", "--seconds", "0.05")
ONE = (*SMALL, "--feature", "psnr", "--backend", "cpu")
PLACES = len({1, available_threads()})


def test_the_table(cli: Cli) -> None:
    ran = cli.acuity(*SMALL)
    assert ran.code == 0
    assert ran.err == ""
    head, _, columns, *rest = ran.out.splitlines()
    assert head == "224x160, 8 bit, frames from memory"
    assert columns.split()[:4] == ["measured", "backend", "fps", "frames"]
    lines = rest[: 4 * PLACES]
    for name in ("v0.6.1", "v0.6.1 + NEG", "v1 (3d0h)", "psnr"):
        found = [line.split("  ", 2)[2] for line in lines if line.startswith(f"  {name}  ")]
        assert len(found) == PLACES
        assert len({line[line.index(" vmaf" if "v" in name else " psnr_y") :] for line in found}) == 1
    assert rest[4 * PLACES].startswith("  cuda: ")
    assert PLACES == 1 or rest[-1] == "  The figures of all are the same, bit for bit."


def test_the_document(cli: Cli) -> None:
    ran = cli.acuity(*ONE, "-m", "vmaf_v0.6.1", "--bitdepth", "10", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert found["schema"] == "acuity.bench/1"
    assert (found["width"], found["height"], found["bitdepth"], found["seconds"]) == (224, 160, 10, 0.05)
    assert found["engine"]["name"] == "acuity"
    assert found["unusable"] == []
    assert found["equal"]
    assert found["differences"] == []
    assert len(found["results"]) == 2 * PLACES
    first, last = found["results"][0], found["results"][-1]
    assert (first["backend"], first["device"], first["card"], first["threads"]) == ("cpu", None, None, 1)
    assert (first["measured"], first["models"], first["features"]) == ("vmaf_v0.6.1", ["vmaf_v0.6.1"], [])
    assert set(first["scores"]) == {"vmaf"}
    assert last["features"] == ["psnr"]
    assert set(last["scores"]) == {"psnr_y", "psnr_cb", "psnr_cr"}
    assert first["fps"] == pytest.approx(first["frames"] / first["seconds"])


def test_progress_on_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is measured, in one line of which nothing is left."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    ran = cli.acuity(*ONE)
    assert ran.code == 0
    shown = ran.err.split("\r")
    assert f"1/{PLACES}: psnr on cpu, 1 thread\033[K" in shown
    assert shown[-1] == "\033[K"
    assert max(map(len, shown)) < 60 + len("\033[K")
    assert "\n" not in ran.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--size", "big"), "'big' is no size: write it as 1920x1080"),
        (("--size", "100000x100000"), "'100000x100000' is too large: 8192x4320 is the most"),
        (("--size", "16384x8192"), "'16384x8192' is too large: 8192x4320 is the most"),
        (("--seconds", "0"), "'0' should be a number of seconds from 0.01 to 3600"),
        (("--seconds", "1e300"), "'1e300' should be a number of seconds from 0.01 to 3600"),
        (("--seconds", "nan"), "'nan' should be a number of seconds from 0.01 to 3600"),
        (("--size", "5x5", "-m", "vmaf_v0.6.1"), "vmaf_v0.6.1 can't be measured: adm needs pictures of at"),
        (("--size", "192x108", "--feature", "cambi"), "cambi can't be measured: cambi needs"),
        (("--feature", "nothing"), "nothing"),
        (("--model", "nothing"), "nothing"),
    ],
)
def test_what_is_refused(cli: Cli, options: tuple[str, ...], text: str) -> None:
    ran = cli.acuity(*SMALL, "--backend", "cpu", *options)
    assert ran.code == 1
    assert text in ran.err
    assert len(ran.err.splitlines()) <= 2
    assert ran.out == ""  # before the table


@pytest.mark.parametrize("name", ["nothing", "", "cuda:x", "gpu"])
def test_an_unknown_backend(cli: Cli, name: str) -> None:
    ran = cli.acuity(*SMALL, "--backend", "cpu", "--backend", name)
    assert ran.code == 100
    assert f"'{name}'" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "hip"])
def test_a_named_backend_beside_one_that_works(cli: Cli, name: str) -> None:
    ran = cli.acuity(*ONE, "--backend", name)
    assert ran.code == 100
    assert ran.out.count("  cpu, ") == PLACES
    assert ran.out.count(f"  {name}: ") == 1
    assert "backend=" not in ran.out  # remedies are options here


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = cli.acuity(*SMALL)
    assert max(map(len, ran.out.splitlines())) <= columns
    assert ran.out.count("psnr_cr ") == PLACES


def _measure(change: Any) -> Any:
    real = speed.SpeedRun.measure

    def measure(self: speed.SpeedRun, place: speed.SpeedTarget, workload: speed.Workload, left: int) -> Any:
        return change(place, real(self, place, workload, left))

    return measure


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_difference_is_an_error(cli: Cli, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]) -> None:
    monkeypatch.setattr(
        speed.SpeedRun, "measure", _measure(lambda _, found: replace(found, differences=("x differs",)))
    )
    ran = cli.acuity(*ONE, *more)
    assert ran.code == 1
    assert ran.err.splitlines() == ["acuity: x differs"] * PLACES
    assert "bit for bit" not in ran.out


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--backend", "cpu", "--backend", "cuda"), 100)])
def test_a_card_that_fails_while_it_computes(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    """It is one line, and the others are measured."""
    card = speed.SpeedTarget("cuda", 1, speed.find_places(["cpu"])[0][0].devices, 0)

    def change(place: speed.SpeedTarget, found: speed.Speed) -> Any:
        if place.number is not None:
            raise BackendError("the card is lost")
        return found

    real = speed.find_places
    monkeypatch.setattr(speed, "find_places", lambda names: ([*real(["cpu"])[0], card], []))
    monkeypatch.setattr(speed.SpeedRun, "measure", _measure(change))
    ran = cli.acuity(*SMALL, *words)
    assert ran.code == code
    assert ran.out.count("cuda:0") == 1
    assert "  cuda:0: the card is lost\n" in ran.out
    assert ran.out.count("cpu, 1 thread") == 4


def test_control_c_ends_it() -> None:
    command = [sys.executable, "-m", "acuity.cli.main", "bench", "--size", "224x160", "--seconds", "1000"]
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env={**os.environ, "COLUMNS": "80"}, **piped)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("224x160")  # it measures
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert errors == "acuity: interrupted\n"
