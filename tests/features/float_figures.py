"""Measures generated pictures, and compares figures of single precision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acuity.video.picture import Picture
from formula_pictures import measure

# By extractor: what libvmaf's plain path says of patterns of drawn_pictures.py with width, height and depth,
# and of "detail", 64x48 at 8 bits, with options.
FIGURES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text())

Pairs = Sequence[tuple[Picture, Picture]]


def run(
    features: str | Sequence[str],
    pairs: Pairs,
    instruction_set: str | None = None,
    threads: int = 1,
    subsample: int = 1,
) -> dict[str, list[float]]:
    """Every column of a report, in its order."""
    settings = {"threads": threads, "subsample": subsample, "instruction_set": instruction_set}
    results = measure(pairs, *([features] if isinstance(features, str) else features), **settings)
    return {key: [float(v) for v in column] for key, column in results.columns.items()}


def first_frame(feature: str, pairs: Pairs) -> dict[str, float]:
    return {key: column[0] for key, column in run(feature, pairs[:1]).items()}


def close(found: Sequence[float], expected: Sequence[float]) -> None:
    """Sums are taken in libvmaf's own order, so that they agree to the last digit of single precision. Only
    exp() and pow(), which make windows and roots, may differ by one between libraries."""
    assert list(found) == pytest.approx(list(expected), rel=2e-7, abs=1e-9)
