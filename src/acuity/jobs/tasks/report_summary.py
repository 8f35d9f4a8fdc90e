"""The summary of a libvmaf JSON report: the score, the figures of each model and the worst frames.

Acuity's own engine makes the summary from its exact figures. Reports of other binaries, and those stored by
an earlier version, are summarised here from the figures in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from acuity.measure.pooling import POOLS, pool
from acuity.scoring.report import PERCENTILES

_WORST: Final = 5  # frames
_DECIMALS: Final = 10  # digits beyond these are noise from interpolating between printed figures


def summarize(report: Mapping[str, Any], models: Mapping[str, str | None]) -> dict[str, Any]:
    """`score`, `model`, `models` and `worst`, as `acuity score --json` has them.

    `models` names the columns that are scores, each with the version or path of its model.
    """
    columns = {name: scores for name in models if (scores := _scores(report, name))}
    first = next(iter(columns), None)
    figures = [
        {"name": name, "label": models[name], **_figures(scores, report["pooled_metrics"].get(name) or {})}
        for name, scores in columns.items()
    ]
    return {
        "score": figures[0]["mean"] if figures else None,
        "model": models[first] if first is not None else None,
        "models": figures,
        "worst": _worst(columns[first]) if first is not None else [],
    }


def _scores(report: Mapping[str, Any], name: str) -> dict[int, float]:
    """The score of each frame that has one."""
    rows = ((row["frameNum"], row["metrics"].get(name)) for row in report["frames"])
    return {frame: float(score) for frame, score in rows if score is not None}


def _figures(scores: Mapping[int, float], pooled: Mapping[str, float | None]) -> dict[str, Any]:
    """The pooled figures of the report, and percentiles."""
    values = np.array([*scores.values()], np.float64)
    return {
        **{method: pooled.get(method, round(pool(values, method), _DECIMALS)) for method in POOLS},
        "percentiles": {f"p{p}": round(pool(values, ("percentile", p)), _DECIMALS) for p in PERCENTILES},
    }


def _worst(scores: Mapping[int, float]) -> list[dict[str, Any]]:
    lowest = sorted(scores, key=scores.__getitem__)[:_WORST]
    return [{"frame": frame, "time": None, "score": scores[frame]} for frame in lowest]
