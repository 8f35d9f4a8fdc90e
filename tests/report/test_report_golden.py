"""Reports of libvmaf's own figures show them all, and bring them back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from acuity.report import render_report
from golden_figures import GoldenCase, GoldenRun, load_cases, needs_golden

pytestmark = needs_golden


class Source:
    """A golden run as a report takes it."""

    fps = 1.0

    def __init__(self, case: GoldenCase, run: GoldenRun) -> None:
        self.frames, self.columns, self.aggregate = run.frames, run.metrics, run.aggregate
        self.width, self.height = case.width or 0, case.height or 0
        self._pooled = run.pooled

    def pooled(self) -> dict[str, dict[str, float]]:
        return self._pooled


def sources() -> list[tuple[str, GoldenRun, Source]]:
    cases = load_cases().values()
    runs = [(case, run) for case in cases for run in case.runs.values() if run.exit == 0 and run.metrics]
    return [(f"{run.case}-{run.name}", run, Source(case, run)) for case, run in runs]


def test_full_precision_brings_every_figure_back() -> None:
    everything = sources()
    assert len(everything) > 500
    for name, run, source in everything:
        document: dict[str, Any] = json.loads("".join(render_report(source, "json", "max", version="x")))
        assert [frame["frameNum"] for frame in document["frames"]] == run.frames, name
        for key, values in run.metrics.items():
            written = [frame["metrics"][key] for frame in document["frames"]]
            assert [np.inf if value is None else value for value in written] == values.tolist(), (name, key)
        assert list(document["frames"][0]["metrics"]) == list(run.metrics)
        assert document["pooled_metrics"].keys() == run.pooled.keys()
