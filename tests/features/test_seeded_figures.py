"""libvmaf's figures of the pictures of seeded.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seeded import figures, pair, same

# An extractor, the width, height, layout and depth of a pair, and what libvmaf says about it.
FIGURES = json.loads(Path(__file__).with_name("seeded_figures.json").read_text())


@pytest.mark.parametrize(("name", "case", "expected"), FIGURES, ids=str)
def test_figures_are_libvmafs(
    name: str, case: tuple[int, int, str, int], expected: dict[str, float], instruction_set: str
) -> None:
    # libvmaf's reader rounds chroma down at odd sizes, which matters to ciede.
    pictures = pair(*case, round_up=name != "ciede")
    found = figures(name, *pictures, instruction_set=instruction_set)
    assert list(found) == list(expected)
    # Functions of the C library differ in their last digits, and moments need none of them.
    within = 0.0 if name == "float_moment" else 1e-9
    assert same(list(found.values()), list(expected.values()), within)
