"""Scores a video by the name of a model, of whatever kind it is: for evaluations on rated videos."""

from __future__ import annotations

import os
from functools import lru_cache

from acuity.errors import EvaluationError, ModelError
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.tiny.evaluate.predictors import VideoScore


def score_video(model: str, reference: str | None, distorted: str) -> VideoScore:
    """The score of a video and its warnings; raises AcuityError. A no-reference model reads no reference."""
    tiny = _tiny_kind(model)
    if tiny == "nr":
        request = Request(None, distorted, models=(), tiny_model=model, no_reference=True, guess=True)
    elif reference is None:
        raise EvaluationError(f"'{model}' reads the reference too: add a column 'reference' to the table")
    elif tiny == "fr":
        request = Request(reference, distorted, models=(), tiny_model=model, guess=True)
    else:
        request = Request(reference, distorted, models=(model,), guess=True)
    report = run_request(request)
    return VideoScore(report.score, [note.text for note in report.warnings])


@lru_cache(maxsize=64)
def _tiny_kind(model: str) -> str | None:
    """'fr' for a tiny model that reads both videos, 'nr' for the distorted alone; None for a VMAF model."""
    from acuity.tiny.files import find_tiny_model
    from acuity.tiny.load import load_tiny_model
    from acuity.tiny.options import TinyOptions

    if not model.endswith(".onnx"):
        if os.sep in model:
            return None
        try:
            find_tiny_model(model)
        except ModelError:
            return None
    return "nr" if load_tiny_model(model, TinyOptions()).no_reference else "fr"
