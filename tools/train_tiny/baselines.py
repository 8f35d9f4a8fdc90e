"""Simple predictors that a model has to be better than, fitted to the same training clips."""

from __future__ import annotations

from typing import Any

import numpy as np

import picture_model
from measured import Clip
from network import Floats


def fit_baselines(name: str, clips: list[Clip], scores: list[Floats]) -> dict[str, Any]:
    """A constant, and a straight line through a few plain figures of each frame."""
    rows = np.vstack([_plain_figures(name, clip) for clip in clips])
    every = np.concatenate(scores)
    weights = np.linalg.lstsq(np.column_stack([rows, np.ones(len(rows))]), every, rcond=None)[0]
    return {"constant": round(float(every.mean()), 4), "linear": [round(float(w), 6) for w in weights]}


def say(name: str, fitted: dict[str, Any], clips: list[Clip]) -> dict[str, list[Floats]]:
    """What they predict for the frames of each clip."""
    *weights, offset = fitted["linear"]
    rows = [_plain_figures(name, clip) for clip in clips]
    return {
        "constant": [np.full(len(part), fitted["constant"]) for part in rows],
        "linear": [np.clip(part @ np.array(weights) + offset, 0, 100) for part in rows],
    }


def _plain_figures(name: str, clip: Clip) -> Floats:
    """The six features; of a picture alone, how much neighbouring samples differ and how much all do."""
    if name != picture_model.NAME:
        return clip.features
    seen = clip.seen.astype(np.float64)
    near = np.abs(np.diff(seen, axis=2)).mean((1, 2)) + np.abs(np.diff(seen, axis=1)).mean((1, 2))
    return np.log(np.column_stack([near, seen.std((1, 2))]) + 0.1)
