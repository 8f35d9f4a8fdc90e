"""The choices of an evaluation, and their defaults. Nothing heavy is imported here.

Rated clips are split into train, val and test by a digest of the clip's key, so a clip never moves. It is the
rule of vmaf-train: a model that was trained there is tested on clips that it never saw. All rows of a key are
in the same part.
"""

from __future__ import annotations

import hashlib
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


SPLITS: Final = ("train", "val", "test", "all")
ALL: Final = "all"
TOO_FEW: Final = "need ≥2 to compute correlations"  # the end of the sentence about a small split
_SALT: Final = "vmaf-train-splits-v1"
_UP_TO: Final = ((0.1, "test"), (0.2, "val"))  # of the bucket; all above is train


def check_split(split: object) -> str:
    """The name of the split; raises EvaluationError."""
    if split not in SPLITS:
        raise EvaluationError(no_split(split))
    return str(split)


def no_split(given: object) -> str:
    """The sentence about a name of no split."""
    return f"split must be one of {SPLITS!r}; got {str(given)[:80]!r}"


def bucket(key: str) -> float:
    """A number from 0 to 1 that depends on the key alone."""
    return int.from_bytes(_digest(key)[:8], "big") / 2**64


def split_of(key: str) -> str:
    """`train`, `val` or `test`."""
    found = bucket(key)
    return next((name for limit, name in _UP_TO if found < limit), "train")


def number_of(key: str) -> int:
    """A number that stands for the key: 64 bits of the digest that the bucket isn't made of."""
    return int.from_bytes(_digest(key)[8:16], "big")


def _digest(key: str) -> bytes:
    return hashlib.sha256(f"{_SALT}:{key}".encode()).digest()
