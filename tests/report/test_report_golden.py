"""Reports of libvmaf's own figures show them all, and bring them back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from acuity.report import render_report
from acuity.report.stored_report import StoredReport
from golden_figures import GoldenRun, load_cases, needs_golden

pytestmark = needs_golden


def sources() -> list[tuple[str, GoldenRun, StoredReport]]:
    runs = [(case, run) for case in load_cases().values() for run in case.runs.values()]
    return [
        (
            f"{run.case}-{run.name}",
            run,
            StoredReport(
                run.frames, run.metrics, run.aggregate, case.width or 0, case.height or 0, 1.0, run.pooled
            ),
        )
        for case, run in runs
        if run.exit == 0 and run.metrics
    ]


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
