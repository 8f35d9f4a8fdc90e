"""The choices of an evaluation, and their defaults. Nothing heavy is imported here."""

from __future__ import annotations

import importlib.util
from typing import Final

from acuity.errors import EvaluationError, MissingExtra

INPUT: Final = "features"  # the usual name of a graph's input
POOLINGS: Final = ("auto", "clip", "none")
NO_MODELS: Final = "'models' must be a non-empty list of paths"
_PACKAGES: Final = ("pyarrow", "scipy", "onnxruntime", "onnx")


def check_pooling(pooling: object) -> str:
    """The name of a pooling; raises EvaluationError."""
    if pooling not in POOLINGS:
        raise EvaluationError(f"pooling must be one of {POOLINGS!r}; got {str(pooling)[:80]!r}")
    return str(pooling)


def require_extra(what: str) -> None:
    """Raise MissingExtra if a package of the extra 'eval' isn't installed."""
    if any(importlib.util.find_spec(package) is None for package in _PACKAGES):
        raise MissingExtra(f"{what} requires the 'eval' extra: pip install 'acuity-vmaf[eval]'")
