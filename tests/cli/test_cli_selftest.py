"""`acuity selftest`: its table, its JSON document, and how it ends."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from acuity.cli import selftest as command
from acuity.errors import BackendError
from acuity.scoring import selftest
from acuity.scoring.selftest import GoldenEntry, read_golden
from acuity.video.picture import Picture
from cli_helpers import Cli

pytestmark = pytest.mark.usefixtures("without_cuda")

CHOSEN = [entry for entry in read_golden() if entry.name in ("psnr", "vmaf_v0.6.1", "acuity_fr_v1")]


def choose(monkeypatch: pytest.MonkeyPatch, entries: list[GoldenEntry]) -> None:
    """Check these alone."""
    monkeypatch.setattr(command, "read_golden", lambda: entries)


@pytest.fixture(scope="module")
def pairs() -> list[list[tuple[Picture, Picture]]]:
    return [clip.pairs() for clip in selftest.CLIPS]


@pytest.fixture(autouse=True)
def plain_setting(monkeypatch: pytest.MonkeyPatch, pairs: list[list[tuple[Picture, Picture]]]) -> None:
    """A few entries, pictures that are made once, one instruction set, no libvmaf."""
    monkeypatch.setattr(selftest.SelfTest, "clips", pairs)
    monkeypatch.setattr(selftest, "usable_instruction_sets", lambda: ["plain"])
    monkeypatch.setattr("av.filter.filters_available", set())
    monkeypatch.delenv("VMAF_REFERENCE_BIN", raising=False)
    choose(monkeypatch, CHOSEN[:2])


def test_the_table(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, CHOSEN)
    ran = cli.acuity("selftest")
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["checked", "backend", "digits,", "352x320", "420", "8", "bit", "result"]
    assert lines[1][:4] == ["psnr", "cpu", "(plain)", "psnr_y"]
    assert lines[1][-2:] == ["36", "equal"]
    assert lines[2] == ["vmaf_v0.6.1", "cpu", "(plain)", "67.10572068383621", "4", "equal"]
    assert lines[3][-3:] == ["4", "within", "0.0001"]
    equal = "  44 figures of 1 extractor and 1 model and 1 tiny model equal on cpu (plain) (4 of tiny models"
    assert equal in ran.out
    assert "  not checked: cuda: " in ran.out


def test_a_wrong_digit_is_named_and_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = selftest.GOLDEN.read_text()
    copy = tmp_path / "copy.json"
    copy.write_text(text.replace("67.10572068383621", "67.10572068383622"))
    names = [entry.name for entry in CHOSEN[:2]]
    choose(monkeypatch, [entry for entry in read_golden(copy) if entry.name in names])
    ran = cli.acuity("selftest", "--backend", "cpu")
    assert ran.code == 1
    assert ran.err.startswith(
        "acuity: vmaf_v0.6.1 on cpu (plain): vmaf_v0.6.1 of 352x320 420 8 bit should be 67.10572068383622: "
        "it is 67.10572068383621, off by 1.4e-14"
    )
    assert ran.out.count("DIFFERS") == 1
    assert "  1 of 40 figures of 1 extractor and 1 model DIFFER on cpu (plain)" in ran.out.splitlines()


def test_a_missing_model_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    psnr, model, _ = CHOSEN
    choose(monkeypatch, [psnr, model._replace(name="vmaf_v9")])
    ran = cli.acuity("selftest", "--json")
    assert ran.code == 1
    assert ran.err.startswith("acuity: vmaf_v9 can't be checked: there is no model named 'vmaf_v9'")
    assert not json.loads(ran.out)["equal"]


def test_the_document(cli: Cli) -> None:
    ran = cli.acuity("selftest", "--json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert found["schema"] == "acuity.selftest/1"
    assert found["equal"]
    assert found["engine"]["name"] == "acuity"
    clip = {"width": 229, "height": 181, "layout": "444", "depth": 8}
    assert found["clips"][1] == {**clip, "name": "229x181 444 8 bit", "frames": 5}
    first = found["results"][0]
    assert (first["kind"], first["name"], first["backend"]) == ("extractor", "psnr", "cpu (plain)")
    assert (first["equal"], first["bound"], first["differences"]) == (True, 0.0, [])
    assert first["confirmed_by"] == "libvmaf 3.2.0"
    assert len(first["figures"]["apsnr_cr"]) == 4
    assert [entry["name"] for entry in found["unusable"]] == ["cuda"]
    assert (found["libvmaf"], found["missing"]) == (None, [])


def test_libvmaf_beside_it(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its differences are shown, and don't count."""
    report = {"version": "3.2.0", "pooled_metrics": {"psnr_y": {"mean": 33.5}}, "aggregate_metrics": {}}
    program = tmp_path / "vmaf"
    program.write_text(
        "#!/bin/sh\n"
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && out="$2"; shift; done\n'
        f'[ -z "$out" ] || echo \'{json.dumps(report)}\' > "$out"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VMAF_REFERENCE_BIN", str(program))
    ran = cli.acuity("selftest", "--backend", "cpu")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1].split()[-3:] == ["1.3e-01", "36", "equal"]
    assert ran.out.splitlines()[2].split()[-3:] == ["-", "4", "equal"]
    assert f"  libvmaf 3.2.0 ({program}, its C code) differs by at most 1.3e-01: psnr_y of psnr, " in ran.out


def test_a_libvmaf_that_does_not_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMAF_REFERENCE_BIN", "/no/such/vmaf")
    ran = cli.acuity("selftest")
    assert ran.code == 100
    assert "VMAF_REFERENCE_BIN names '/no/such/vmaf'" in ran.err
    assert ran.out == ""


def test_backends_that_cannot_be_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, CHOSEN[:1])
    assert cli.acuity("selftest", "--backend", "cuda").code == 100
    ran = cli.acuity("selftest", "--backend", "cpu", "--backend", "cuda")
    assert ran.code == 100
    assert "equal on cpu (plain)" in ran.out

    def lost(*_: object) -> None:
        raise BackendError("the card is lost")

    monkeypatch.setattr(selftest.SelfTest, "check", lost)
    ran = cli.acuity("selftest", "--backend", "cpu")
    assert ran.code == 100
    assert "not checked: cpu (plain): the card is lost" in ran.out
