"""Several models in one run: each has the scores it has alone, and no extractor is computed twice."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from acuity.features.adm import FloatAdm
from acuity.features.extractor import Frame, Run
from acuity.features.motion import FloatMotion
from acuity.features.vif import FloatVif
from moving_pictures import measure
from small_model import small_document

FRAMES = 4
ADM, VIF, MOTION = "VMAF_feature_adm2_score", "VMAF_feature_vif_scale0_score", "VMAF_feature_motion2_score"
MODELS: dict[str, dict[str, dict[str, float]]] = {
    "first": {ADM: {}, VIF: {}},
    "limited": {ADM: {"adm_enhn_gain_limit": 1.0}, VIF: {"vif_enhn_gain_limit": 1.0}},
    "again": {VIF: {}, ADM: {}},
    "moving": {MOTION: {}, VIF: {"vif_enhn_gain_limit": 1.0}},
}


@pytest.fixture
def specs(tmp_path: Path) -> list[str]:
    for name, features in MODELS.items():
        document = small_document()
        document["model_dict"]["feature_names"] = list(features)
        document["model_dict"]["feature_opts_dicts"] = list(features.values())
        document["model_dict"]["score_clip"] = [-1000.0, 1000.0]
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return [f"path={tmp_path / name}.json:name={name}" for name in MODELS]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[type, int]]:
    """How often each kind of extractor computed each frame."""
    found: Counter[tuple[type, int]] = Counter()
    for kind in (FloatAdm, FloatMotion, FloatVif):

        def counting(*arguments: Any, kind: Any = kind, usual: Any = kind.runner) -> Run:
            run = usual(*arguments)

            def counted(frame: Frame) -> dict[str, float]:
                found[kind, frame.index] += 1
                return dict(run(frame))

            return counted

        monkeypatch.setattr(kind, "runner", counting)
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_each_extractor_is_computed_once(
    specs: list[str], runs: Counter[tuple[type, int]], threads: int
) -> None:
    results = measure(FRAMES, *specs, features=("float_vif=debug=true",), threads=threads)
    assert set(results.models) >= set(MODELS)
    assert set(runs.values()) == {1}
    assert len(runs) == 3 * FRAMES


def test_each_model_has_the_scores_it_has_alone(specs: list[str]) -> None:
    together = measure(FRAMES, *specs).columns
    for name, spec in zip(MODELS, specs, strict=True):
        alone = measure(FRAMES, spec).columns
        assert {key: list(column) for key, column in alone.items()} == {
            key: list(together[key]) for key in alone
        }
        assert len(set(alone[name])) > 1
