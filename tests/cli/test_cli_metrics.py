"""`acuity score --viewing` and `--metrics`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acuity.models.choose import VIEWINGS, models_for_viewing
from cli_helpers import FRAMES, Cli
from small_model import small_document


@pytest.fixture
def pair(clips: Path) -> list[str]:
    return ["score", str(clips / "ref.y4m"), str(clips / "dis.y4m")]


@pytest.fixture
def version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models under the names of the real ones, which need pictures larger than these."""
    folder = tmp_path / "models"
    folder.mkdir()
    for viewing in VIEWINGS:
        for name in models_for_viewing(viewing):
            (folder / f"{name}.json").write_text(json.dumps(small_document()))
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(folder))


def document(cli: Cli, *argv: str) -> dict[str, Any]:
    ran = cli.acuity(*argv, "--json")
    assert (ran.code, ran.err) == (0, "")
    parsed: dict[str, Any] = json.loads(ran.out)
    return parsed


# ---- --viewing ------------------------------------------------------------------------------


@pytest.mark.usefixtures("version_1")
def test_the_way_of_watching_chooses_the_model(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--viewing", "phone")
    assert found["model"] == "vmaf_v1.0.16_5d0h"
    assert found["model_chosen_by"] == "viewing"
    assert found["model_reason"] == (
        "VMAF v1 for a phone seen from 5 times the height of its display, at the 1620x1080 of a 1080p"
        " display, at 25 frames a second, a usual rate"
    )
    ran = cli.acuity(*pair, "--viewing", "phone")
    assert "vmaf_v1.0.16_5d0h, scored at 8 bit, filling a 1080p display" in ran.out
    assert f"vmaf_v1.0.16_5d0h  {found['model_reason']}" in ran.err


@pytest.mark.usefixtures("version_1")
def test_a_way_of_watching_takes_the_display_of_its_model(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--viewing", "tv")
    assert (found["width"], found["height"], found["input"]["display"]) == (1620, 1080, "1080p")
    assert [text.endswith("from 54x36 to 1620x1080 with a bicubic filter")
            for text in found["input"]["conversions"]] == [True, True]  # fmt: skip
    found = document(cli, *pair, "--viewing", "tv", "--display", "native")
    assert (found["width"], found["height"], found["input"]["display"]) == (54, 36, "native")
    notes = {note["code"]: note for note in found["notes"]}
    assert notes["display"] == {
        "level": "info",
        "code": "display",
        "text": "vmaf_v1.0.16_3d0h is made for a 1080p display, and 54x36 is scored as if it took 3 % of its"
        " height, pixel for pixel: pass display=1080p to score both videos as they fill it",
    }


def test_a_named_model_leaves_nothing_to_choose(cli: Cli, pair: list[str]) -> None:
    ran = cli.acuity(*pair, "--viewing", "tv", "-m", "vmaf_v0.6.1")
    assert ran.code == 1
    assert "--viewing: it chooses the model, and --model names one" in ran.err


# ---- --metrics ------------------------------------------------------------------------------


def test_metrics_come_in_one_table(cli: Cli, pair: list[str]) -> None:
    found = {m["name"]: m for m in document(cli, *pair, "--metrics", "vmaf,psnr")["metrics"]}
    table = cli.acuity(*pair, "--metrics", "vmaf,psnr").out
    head, vmaf, psnr = (line.split() for line in table.splitlines() if line.split()[:1] in NAMES)
    assert head == ["metric", "mean", "harmonic", "worst", "5", "%", "worst"]
    figures = ("mean", "harmonic_mean", "p5", "min")
    values = [{**found["vmaf"], **found["vmaf"]["percentiles"]}[name] for name in figures]
    assert vmaf == ["vmaf", *(f"{value:.2f}" for value in values), "higher", "is", "better"]
    assert psnr[0] == "psnr"
    assert psnr[1] == f"{found['psnr']['mean']:.2f}"
    assert psnr[4:] == ["dB,", "higher", "is", "better"]  # no harmonic mean


NAMES = (["metric"], ["vmaf"], ["psnr"])


def test_the_document_has_every_metric(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--metrics", "psnr", "--metrics", "vmaf,psnr", "--pool", "p33")
    psnr, vmaf = found["metrics"]
    about = ["name", "key", "label", "unit", "better"]
    assert list(psnr) == [*about, "clip", "min", "max", "mean", "harmonic_mean", "percentiles", "pools"]
    assert (psnr["name"], psnr["key"], psnr["label"]) == ("psnr", "psnr_y", "psnr")
    assert (psnr["unit"], psnr["better"], psnr["harmonic_mean"]) == ("dB", "higher", None)
    assert psnr["mean"] == found["features"]["psnr_y"]["mean"]
    assert (vmaf["key"], vmaf["label"], vmaf["unit"]) == ("vmaf", "vmaf_v0.6.1", None)
    assert vmaf["mean"] == found["score"] == found["models"][0]["mean"]
    assert vmaf["pools"] == found["models"][0]["pools"]
    assert vmaf["percentiles"] == found["models"][0]["percentiles"]


def test_without_vmaf_no_model_is_measured(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--metrics", "psnr", "--per-frame")
    assert (found["score"], found["models"], found["model"]) == (None, [], None)
    assert set(found["per_frame"]) == {"frame", "psnr_y", "psnr_cb", "psnr_cr"}
    assert len(found["per_frame"]["psnr_y"]) == FRAMES
    named = document(cli, *pair, "--metrics", "psnr", "-m", "vmaf_v0.6.1neg")
    assert [model["label"] for model in named["models"]] == ["vmaf_v0.6.1neg"]
