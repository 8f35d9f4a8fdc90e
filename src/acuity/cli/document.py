"""The JSON document of `acuity score --json`: a contract, described in docs/output.md."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.cli.summary import PERCENTILES, time_of

if TYPE_CHECKING:
    from acuity.cli.scoring import Outcome

SCHEMA: Final = "acuity.score/1"


def as_json(outcome: Outcome, *, pools: Sequence[str] = (), worst: int = 5, per_frame: bool = False) -> str:
    """The document as text; figures that JSON can't hold become null."""
    document = as_dict(outcome, pools=pools, worst=worst, per_frame=per_frame)
    return json.dumps(_clean(document), indent=2, allow_nan=False)


def as_dict(outcome: Outcome, *, pools: Sequence[str], worst: int, per_frame: bool) -> dict[str, Any]:
    results = outcome.results
    first = results.models[0] if results.models else None
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "score": results.pool(first) if first else None,
        **about(outcome),
        "models": [
            {"name": model.name, "label": model.label, **_figures(outcome, model.name, pools)}
            for model in outcome.models
        ],
        "worst": _worst(outcome, worst) if first else [],
        "features": results.pooled(),
    }
    if per_frame:
        document["per_frame"] = {
            "frame": list(results.frames),
            **{name: values.tolist() for name, values in results.columns.items()},
        }
    return document


def about(outcome: Outcome) -> dict[str, Any]:
    """What was compared and how, without the scores."""
    from acuity import __version__

    description = dict(outcome.pairing.description)
    notes = description.pop("notes")
    frames = outcome.results.frames
    found: dict[str, Any] = {
        "version": __version__,
        "model": outcome.models[0].label if outcome.models else None,
        "model_chosen_by": "resolution" if outcome.chosen else "caller",
        "frames": len(frames),
        "width": outcome.results.width,
        "height": outcome.results.height,
        "input": description,
        "notes": notes,
        "backend": "cpu",
        "instruction_set": outcome.instruction_set,
        "threads": outcome.threads,
        "seconds": round(outcome.seconds, 3),
        "fps": round((frames[-1] + 1) / max(outcome.seconds, 1e-9), 3),
    }
    cleaned: dict[str, Any] = _clean(found)
    return cleaned


def _figures(outcome: Outcome, name: str, pools: Sequence[str]) -> dict[str, Any]:
    pool = outcome.results.pool
    figures: dict[str, Any] = {
        method: pool(name, method) for method in ("mean", "harmonic_mean", "min", "max")
    }
    figures["percentiles"] = {f"p{p}": pool(name, ("percentile", p)) for p in PERCENTILES}
    if pools:
        figures["pools"] = {method: pool(name, method) for method in pools}
    interval = [f"{name}_{part}" for part in ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")]
    if all(key in outcome.results.columns for key in interval):
        figures["bootstrap"] = {key.removeprefix(f"{name}_"): pool(key) for key in interval}
    return figures


def _worst(outcome: Outcome, number: int) -> list[dict[str, Any]]:
    return [
        {"frame": frame, "time": time_of(outcome, frame), "score": score}
        for frame, score in outcome.results.worst(number)
    ]


def _clean(value: Any) -> Any:
    """The same without what JSON has no way to say: numbers that aren't finite, bytes that aren't text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # file names may hold any bytes
    if isinstance(value, dict):
        return {key: _clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(entry) for entry in value]
    return value
