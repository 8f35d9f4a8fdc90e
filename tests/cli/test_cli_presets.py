"""Common test conditions: what the presets add, and in which order their figures come."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from acuity.cli.vmaf.options import parse
from acuity.measure import Measurement
from acuity.scoring.presets import PRESETS
from cli_helpers import HEIGHT, WIDTH, Cli
from golden_figures import GoldenRun, load_cases, needs_golden

ANYTHING = ["-r", "a", "-d", "b"]


@pytest.mark.parametrize("family", PRESETS)
def test_presets_add_models_and_features_in_order(family: str) -> None:
    for version, preset in PRESETS[family].items():
        settings = parse([*ANYTHING, "--feature", "vif", f"--{family}", version])
        assert settings.models == list(preset.models)
        assert settings.features == ["vif", *preset.features]


def preset_runs() -> list[GoldenRun]:
    """One run of each preset."""
    runs = {r.name: r for case in load_cases().values() for r in case.runs.values() if r.exit == 0}
    return [run for name, run in runs.items() if name.startswith("preset_")]


@needs_golden
@pytest.mark.parametrize("run", preset_runs(), ids=lambda run: run.name)
def test_presets_give_libvmafs_figures_in_its_order(run: GoldenRun) -> None:
    settings = parse([*ANYTHING, *run.args])
    with Measurement() as measurement:
        for model in settings.models:
            measurement.add_model(model)
        for feature in settings.features:
            measurement.add_feature(feature)
        scores = [name for model in measurement.models for name in model.output_names()]
        assert [*measurement.features, *scores] == list(run.metrics)


def deepened(source: Path, target: Path) -> Path:
    """The same samples with two more bits, as Y4M."""
    frames = np.frombuffer(source.read_bytes(), np.uint8).astype("<u2") << 2
    parts = [b"FRAME\n" + frame.tobytes() for frame in frames.reshape(-1, WIDTH * HEIGHT * 3 // 2)]
    target.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 Ip C420p10\n".encode() + b"".join(parts))
    return target


def test_a_pair_of_different_depths(
    cli: Cli, clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples of the lesser depth are shifted up, where libvmaf 3.2 scores nonsense or fails."""
    few = PRESETS["aom_ctc"]["v6.0"]._replace(features=("psnr",))
    monkeypatch.setitem(PRESETS["aom_ctc"], "v6.0", few)
    monkeypatch.setitem(PRESETS["aom_ctc"], "v5.0", few._replace(common_bitdepth=False))
    deep = {name: deepened(clips / f"{name}.yuv", tmp_path / f"{name}.y4m") for name in ("ref", "dis")}

    def pooled(ref: Path, *options: str) -> object:
        out = tmp_path / "out.json"
        line = ["-r", str(ref), "-d", str(deep["dis"]), "-o", str(out), "--json", *options]
        assert cli.vmaf(*line).code == 0
        return json.loads(out.read_text())["pooled_metrics"]

    both = pooled(deep["ref"], "--aom_ctc", "v6.0")
    assert pooled(clips / "ref.y4m", "--aom_ctc", "v6.0") == both
    line = ["-r", str(clips / "ref.y4m"), "-d", str(deep["dis"]), "--aom_ctc"]
    assert "bit depths do not match" in cli.vmaf(*line, "v5.0").err
    assert "bit depths do not match" in cli.vmaf(*line, "v6.0", "--convert", "never").err
