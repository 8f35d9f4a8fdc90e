"""Scores from libvmaf's features equal libvmaf's scores, for every model and every clip."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.models import load_model, sources
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


def test_every_golden_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GOLDEN is not None
    for path in (GOLDEN / "models").glob("*.json"):
        assert load_model(str(path)).features
