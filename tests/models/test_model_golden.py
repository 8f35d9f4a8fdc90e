"""Scores from libvmaf's features equal libvmaf's scores, for every model and every clip."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.models import Model, load_model, sources
from golden_figures import GOLDEN, GoldenCase, GoldenRun, load_cases, needs_golden

pytestmark = needs_golden

_LONG_NAME = re.compile(r"(?:VMAF_(integer_)?feature|[A-Z]\w+?_feature)_(\w+)_score")


def column(run: GoldenRun, long_name: str) -> NDArray[np.float64]:
    """The figures of a feature: its alias, with whatever options the run's only model adds to it."""
    match = _LONG_NAME.fullmatch(long_name)
    assert match is not None
    alias = (match[1] or "") + match[2]
    found = [key for key in run.metrics if key == alias or key.startswith(f"{alias}_")]
    assert len(found) == 1, (long_name, found)
    return run.metrics[found[0]]


def model_runs(case: GoldenCase) -> list[GoldenRun]:
    return [run for run in case.runs.values() if run.exit == 0 and run.name.startswith("model_")]


@pytest.mark.parametrize("case", list(filter(model_runs, load_cases().values())), ids=lambda case: case.name)
def test_scores_from_features(case: GoldenCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, f"{GOLDEN}/models")
    for run in model_runs(case):
        model = load_model(run.models[0])
        scores = model.outputs(np.column_stack([column(run, feature.name) for feature in model.features]))
        assert list(scores) == list(run.metrics)[-len(scores) :], run.name
        for name, values in scores.items():
            np.testing.assert_allclose(values, run.metrics[name], rtol=0, atol=1e-11, err_msg=run.name)


def test_every_shape_of_model_is_among_them() -> None:
    """A filter that lost runs would pass everything above."""
    names = {run.name for case in load_cases().values() for run in model_runs(case)}
    ends = ("3d0h", "5d0h", "1d5h_2160", "3d0h_2160")
    assert {f"model_vmaf_v1.0.16_{fast}{end}" for fast in ("", "hfr_") for end in ends} <= names
    assert {"model_vmaf_float_v0.6.1", "model_vmaf_float_b_v0.6.3", "model_vmaf_b_v0.6.3"} <= names
    assert {"model_vmaf_4k_v0.6.1neg", "model_other_nflxtrain_norm_type_none"} <= names


def test_version_1_goes_up_to_110_and_guesses_missing_chroma() -> None:
    """Both happen in these clips: chroma that says nothing, and scores beyond 100."""
    cases = load_cases()
    model = load_model("vmaf_v1.0.16_3d0h_2160")
    assert isinstance(model, Model)
    same = cases["src01_576x324_420p10_self"].runs["model_vmaf_v1.0.16_3d0h_2160"]
    assert set(same.metrics["vmaf"]) == {110.0}
    run = cases["src01_576x324_420p10"].runs["model_vmaf_v1.0.16_3d0h_2160"]
    columns = np.column_stack([column(run, feature.name) for feature in model.features])
    assert (columns[:, 1] == 0.0).any()
    without = replace(model, chroma=None).predict(columns)
    assert np.abs(without - run.metrics["vmaf"]).max() > 0.1
