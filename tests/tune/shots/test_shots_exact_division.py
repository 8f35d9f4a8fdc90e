"""The best division among a few shots is the one that trying everything finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from acuity.tune.shots.allocation import Choice, Curve, Divisions, mean_score


def made_up(seed: int, shots: int = 4) -> list[Curve]:
    """Shots with curves of all kinds, and qualities that nobody would choose."""
    rng = np.random.default_rng(seed)
    return [
        Curve(
            int(rng.integers(5, 90)), tuple(Choice(q, *rng.uniform((1e3, 40), (1e5, 100))) for q in range(6))
        )
        for _ in range(shots)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_no_other_choices_are_better(seed: int) -> None:
    curves = made_up(seed)
    divisions = Divisions(curves)
    every = [
        (mean_score(curves, chosen), sum(choice.bits for choice in chosen))
        for chosen in itertools.product(*(curve.choices for curve in curves))
    ]
    for target in (60.0, 75.0, 85.0):
        best = min((bits for score, bits in every if score >= target), default=None)
        found = divisions.least_bits(target)
        assert (found is None) == (best is None)
        if found is not None and best is not None:
            assert mean_score(curves, found) >= target
            assert sum(choice.bits for choice in found) <= 1.002 * best
    for budget in (6e4, 1.2e5, 2.5e5):
        best = max((score for score, bits in every if bits <= budget), default=None)
        found = divisions.best_score(budget)
        assert (found is None) == (best is None)
        if found is not None and best is not None:
            assert sum(choice.bits for choice in found) <= budget
            assert mean_score(curves, found) >= best - 0.05


def test_one_choice_is_no_choice() -> None:
    only = Curve(10, (Choice(30, 1000.0, 90.0),))
    assert Divisions([only, only]).least_bits(90.0) == [only.choices[0]] * 2
    assert Divisions([only]).least_bits(90.5) is None
    assert Divisions([only]).best_score(999.0) is None
