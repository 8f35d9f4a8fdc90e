"""Tuning on a card: which one computes, with the CPU's figures, and what can't be used is said at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acuity.cli.tune import main
from acuity.tune.clip import open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import PointScoring, measure
from acuity.tune.points.workbench import point_keys
from emulated_card import needs_compiler
from fake_cuda import FakeCuda, fake_cards
from tune_clips import write_y4m

pytestmark = pytest.mark.usefixtures("without_cuda")

WIDTH, HEIGHT = 64, 48
SETTINGS = EncoderSettings(find_encoder("libx264"), preset="ultrafast")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACUITY_CACHE", str(tmp_path / "cache"))
    return write_y4m(tmp_path / "source.y4m", 4, WIDTH, HEIGHT)


@needs_compiler
def test_a_point_has_the_figures_of_the_cpu(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = open_clip(source)
    here = measure(clip, SETTINGS, 30, PointScoring(backend="cpu"))
    fake_cards(monkeypatch, cuda := FakeCuda(2))
    on_card = PointScoring(backend="cuda", device=1, share=2)
    there = measure(clip, SETTINGS, 30, on_card)
    assert cuda.launches
    assert {call for call in cuda.calls if call.startswith("setDevice")} == {"setDevice 1"}
    assert list(there.scores) == list(here.scores)
    for name, values in here.scores.items():
        np.testing.assert_array_equal(there.scores[name], values, strict=True)
    assert point_keys(clip, SETTINGS, [30], on_card) == point_keys(clip, SETTINGS, [30], PointScoring())


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
    capsys: pytest.CaptureFixture[str], source: Path, options: tuple[str, ...], sentence: str
) -> None:
    """The exit code is that of other commands, and nothing was encoded."""
    code = main(["search", str(source), *options, "-q"])
    printed = capsys.readouterr()
    assert code == 100
    assert printed.out == ""
    assert printed.err.startswith(f"vmaf-tune: {sentence}")
