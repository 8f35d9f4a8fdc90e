"""Reports of figures that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from acuity.measure.results import Results
from acuity.scoring.metrics import find_metrics, headlines
from acuity.scoring.report import ScoreReport
from acuity.video.pairs.clock import PairTimes


def report(
    values: Any, frames: Sequence[int] | None = None, rate: int | None = 25, metric: str | None = None
) -> ScoreReport:
    """The report of one column: that of a model, or of a metric."""
    column = np.asarray(values, np.float64)
    name = metric or "vmaf"
    numbers = list(range(len(column)) if frames is None else frames)
    return ScoreReport(
        results=Results(
            frames=numbers,
            columns={name: column},
            models=[] if metric else ["vmaf"],
            model_labels={} if metric else {"vmaf": "vmaf_v0.6.1"},
            width=64,
            height=48,
            fps=1.0,
            undefined={name: np.isnan(column)} if np.isnan(column).any() else {},
        ),
        models=[] if metric else [cast(Any, SimpleNamespace(name="vmaf", label="vmaf_v0.6.1"))],
        choice=None,
        notes=[],
        input={"pairs": numbers[-1] + 1, "distorted": {}},
        bitdepth=8,
        timeline=PairTimes(None if rate is None else Fraction(rate), None, variable=False),
        threads=1,
        instruction_set="plain",
        seconds=1.0,
        headlines=headlines(find_metrics([metric]), {}) if metric else [],
    )
