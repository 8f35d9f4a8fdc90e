"""Every extractor on pictures that metrics stumble over: libvmaf's figures, or its infinities."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest

import formula_pictures
from acuity.measure import Results
from extremes import FEATURES, FORMATS, PATTERNS, clip
from tolerances import tolerance

FIGURES: dict[str, Any] = json.loads(Path(__file__).with_name("extreme_figures.json").read_text())


@functools.lru_cache(maxsize=1)
def pairs(pattern: str, layout: str, depth: int) -> list[Any]:
    return list(clip(pattern, layout, depth))


def measure(pattern: str, layout: str, depth: int, feature: str) -> Results:
    return formula_pictures.measure(pairs(pattern, layout, depth), feature, bitdepth=depth, threads=2)


def same(key: str, ours: float, theirs: float | str) -> bool:
    if isinstance(theirs, str):
        return not math.isfinite(ours)
    return abs(ours - theirs) <= tolerance(key)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize(("layout", "depth"), FORMATS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_figures_are_libvmafs(pattern: str, layout: str, depth: int, feature: str) -> None:
    expected = FIGURES[f"{pattern} {layout}p{depth}"][feature]
    results = measure(pattern, layout, depth, feature)
    assert list(results.columns) == list(expected["frames"])
    for key, figures in expected["frames"].items():
        found = results.columns[key].tolist()
        assert all(same(key, *both) for both in zip(found, figures, strict=True)), (key, found, figures)
    assert list(results.aggregate) == list(expected["clip"])
    for key, figure in expected["clip"].items():
        assert same(key, results.aggregate[key], figure), key
