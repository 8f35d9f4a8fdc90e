"""`acuity score`, for people and for their scripts."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acuity.scoring.report import SCHEMA
from cli_helpers import FRAMES, HEIGHT, WIDTH, Cli, encode, environment, moving, y4m
from small_model import SVM_TEXT, small_document


@pytest.fixture
def pair(clips: Path) -> list[str]:
    return ["score", str(clips / "ref.y4m"), str(clips / "dis.y4m")]


def document(cli: Cli, *argv: str) -> dict[str, Any]:
    ran = cli.acuity(*argv, "--json")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    parsed: dict[str, Any] = json.loads(ran.out)
    return parsed


def test_the_summary(cli: Cli, pair: list[str], clips: Path) -> None:
    ran = cli.acuity(*pair, "--worst", "2")
    assert ran.code == 0
    score = cli.vmaf("-r", pair[1], "-d", pair[2]).err.split()[1]
    assert f"VMAF  {float(score):.2f}" in ran.out
    assert "vmaf_v0.6.1, scored at 8 bit" in ran.out
    why = "vmaf_v0.6.1  the default for pictures of 54x36; --viewing tv, phone or 4k-tv chooses VMAF v1"
    assert why in ran.err
    for word in ("p1 ", "p50 ", "harmonic mean", "lowest", "worst frames", "fps on"):
        assert word in ran.out
    assert ran.out.count(" at 0:00.") == 2
    assert "\033" not in ran.out + ran.err


def test_the_json_document(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair)
    assert found["schema"] == SCHEMA == "acuity.score/1"
    assert found["frames"] == FRAMES
    assert found["model"] == "vmaf_v0.6.1"
    assert found["model_chosen_by"] == "resolution"
    assert found["model_reason"] == "the default for pictures of 54x36"
    assert found["bitdepth"] == 8
    assert found["metrics"] == []
    assert found["score"] == found["models"][0]["mean"] == found["features"]["vmaf"]["mean"]
    assert found["models"][0]["min"] == found["worst"][0]["score"]
    assert found["worst"][0]["time"] == found["worst"][0]["frame"] / 25
    assert found["input"]["reference"]["width"] == WIDTH
    assert "per_frame" not in found


def test_pools(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--pool", "p5", "--pool", "harmonic_mean")["models"][0]
    assert found["pools"] == {"p5": found["percentiles"]["p5"], "harmonic_mean": found["harmonic_mean"]}
    ran = cli.acuity(*pair, "--pool", "p33")
    assert "p33 " in ran.out


def test_a_bootstrap_model_shows_its_interval(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    file = tmp_path / "bootstrap.json"
    members = {"1": "rho -0.25", "2": "rho -0.26", "3": "rho -0.27"}
    models: dict[str, Any] = {"0": small_document()}
    for key, rho in members.items():
        models[key] = small_document("BOOTSTRAP_LIBSVMNUSVR", SVM_TEXT.replace("rho -0.25", rho))
        models[key]["model_dict"]["score_clip"] = [-1e6, 1e6]
    file.write_text(json.dumps(models))
    interval = document(cli, *pair, "-m", str(file))["models"][0]["bootstrap"]
    assert interval["ci_p95_lo"] < interval["bagging"] < interval["ci_p95_hi"]
    assert "95 %" in cli.acuity(*pair, "-m", str(file)).out
    ran = cli.vmaf("-r", pair[1], "-d", pair[2], "-m", f"path={file}")
    expected = f"{file}: {interval['bagging']:.6f}, ci.p95: [{interval['ci_p95_lo']:.6f}, "
    assert ran.err.splitlines()[1].startswith(expected)


def test_a_report_of_unknown_format(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    ran = cli.acuity(*pair, "-o", str(tmp_path / "report.pdf"))
    assert ran.code == 1
    assert "--format" in ran.err
    assert cli.acuity(*pair, "-o", str(tmp_path / "report.pdf"), "--format", "csv").code == 0


def test_raw_video_by_its_name(cli: Cli, clips: Path, tmp_path: Path) -> None:
    ref = tmp_path / f"ref_{WIDTH}x{HEIGHT}_420p8.yuv"
    ref.write_bytes((clips / "ref.yuv").read_bytes())
    encoded = encode(tmp_path / "dis.mkv", moving(noise=25), codec="ffv1")
    found = document(cli, "score", str(ref), str(encoded))
    assert found["score"] == document(cli, "score", str(clips / "ref.y4m"), str(clips / "dis.y4m"))["score"]
    assert "guessed" in [note["code"] for note in found["notes"]]


def test_skipping(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--skip", "1", "--frames", "2")
    assert found["frames"] == 2
    assert found["worst"][0]["time"] >= 1 / 25
    both = json.loads(cli.acuity(*pair, "--skip", "1", "--skip-dis", "2", "--json").out)
    assert (both["input"]["frame_skip_ref"], both["input"]["frame_skip_dis"]) == (1, 2)


def test_notes_reach_people_and_machines(cli: Cli, clips: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.y4m"
    small.write_bytes(y4m(moving(width=24, height=16), width=24, height=16))
    line = ["score", str(clips / "ref.y4m"), str(small), "--scale", "force"]
    assert "bicubic" in cli.acuity(*line).out
    assert "scaled" in [note["code"] for note in document(cli, *line)["notes"]]


@pytest.mark.parametrize("module", ["vmaf", "main"])
def test_progress_on_a_terminal(module: str, clips: Path) -> None:
    """stderr is a pseudo-terminal, so the bar and the meter are drawn; stdout stays clean."""
    ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
    line = {"vmaf": ["-r", ref, "-d", dis], "main": ["score", ref, dis]}[module]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", f"acuity.cli.{module}", *line],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**environment(), "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=60)
    screen = _read_all(ours)
    assert process.returncode == 0
    assert ("FPS" if module == "vmaf" else f"{FRAMES}/{FRAMES} frames  100%") in screen
    assert b"\r" not in out


def _read_all(descriptor: int) -> str:
    pieces = []
    try:
        while piece := os.read(descriptor, 4096):
            pieces.append(piece)
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(descriptor)
    return b"".join(pieces).decode()
