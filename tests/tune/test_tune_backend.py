"""Tuning on a card: which one computes, with the CPU's figures, and what can't be used is said at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from acuity.cli.tune import COMMANDS, main
from acuity.errors import BackendError
from acuity.tune.clip import open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.settings import EncoderSettings
from acuity.tune.points.cache import Cache
from acuity.tune.points.point import Scoring, measure
from acuity.tune.points.workbench import Workbench
from acuity.tune.request import SearchRequest
from acuity.tune.run import run_search
from emulated_card import needs_compiler
from fake_cuda import FakeCuda, fake_cards
from tune_clips import write_y4m

pytestmark = pytest.mark.usefixtures("without_cuda")

WIDTH, HEIGHT = 160, 96
SETTINGS = EncoderSettings(find_encoder("libx264"), preset="ultrafast")
TUNING = [name for name in COMMANDS if name != "encoders"]
WANTED = {"ladder": ("--resolutions", "160x96", "--target-vmafs", "75")}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACUITY_CACHE", str(tmp_path / "cache"))
    return write_y4m(tmp_path / "source.y4m", 6, WIDTH, HEIGHT)


@needs_compiler
def test_a_point_has_the_figures_of_the_cpu(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = open_clip(source)
    here = measure(clip, SETTINGS, 30, Scoring(backend="cpu"))
    fake_cards(monkeypatch, cuda := FakeCuda(2))
    there = measure(clip, SETTINGS, 30, Scoring(backend="cuda", device=1, share=2))
    assert cuda.launches
    assert {call for call in cuda.calls if call.startswith("setDevice")} == {"setDevice 1"}
    assert list(there.scores) == list(here.scores)
    for name, values in here.scores.items():
        np.testing.assert_array_equal(there.scores[name], values, strict=True)


@needs_compiler
def test_what_a_card_measured_is_remembered_for_the_cpu(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, path = open_clip(source), str(tmp_path / "points.sqlite")
    fake_cards(monkeypatch, FakeCuda())
    first = Workbench(Scoring(backend="cuda"), cache=Cache(path), cores=1)
    made = first.point(clip, SETTINGS, 30)
    first.cache.close()
    second = Workbench(Scoring(backend="cpu"), cache=Cache(path), cores=1)
    assert second.point(clip, SETTINGS, 30).pool() == made.pool()
    assert (first.encodes, second.encodes) == (1, 0)


def test_no_figure_depends_on_the_card() -> None:
    assert Scoring(backend="cuda", device=1, share=4, threads=3).document() == Scoring().document()


@pytest.mark.parametrize("command", TUNING)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--backend", "cuda"), "the backend 'cuda' can't start"),
        (("--backend", "cuda:1"), "the backend 'cuda:1' can't start"),
        (("--device", "0"), "the backend 'auto' can't start"),
        (("--backend", "cpu", "--device", "0"), "--device 0 is no card of the backend 'cpu'"),
        (("--backend", "nope"), "the backend 'nope' can't start (unknown)"),
    ],
)
def test_a_card_that_cannot_be_used_ends_a_command(
    capsys: pytest.CaptureFixture[str], source: Path, command: str, options: tuple[str, ...], sentence: str
) -> None:
    """The exit code is that of other commands, and nothing was encoded."""
    code = main([command, str(source), *WANTED.get(command, ()), *options, "-q"])
    printed = capsys.readouterr()
    assert code == 100
    assert printed.out == ""
    assert printed.err.startswith(f"vmaf-tune: {sentence}")


def test_the_cpu_by_name(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    wanted = ("search", str(source), "--target-vmaf", "75", "--preset", "ultrafast", "-q", "--format", "json")
    assert main([*wanted, "--backend", "cpu"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]


def test_python_names_the_card(source: Path) -> None:
    with pytest.raises(BackendError, match="cuda"):
        run_search(SearchRequest(src=str(source), backend="cuda", device=1))
    asked = SearchRequest(src=str(source), backend="cuda", device=1)
    assert SearchRequest.from_document(asked.to_document()) == asked


def test_the_number_of_a_card_has_few_digits(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    assert main(["search", str(source), "--target-vmaf", "75", "--device", "9" * 5000]) == 1
    assert "99999…9999999999' is too large: 18 digits are the most" in capsys.readouterr().err
