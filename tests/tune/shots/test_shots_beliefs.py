"""Beliefs of a shot's curve go through what was measured, and are bounded beyond."""

from __future__ import annotations

import itertools

import pytest

from acuity.tune.shots.per_shot import Measured, believed_curve, measured_curve

KNOWN = {20: Measured(8e5, 98.0), 26: Measured(4e5, 95.0), 32: Measured(2e5, 86.0)}


def same(step: int) -> int:
    return step


def test_what_was_measured_stays_as_it_is() -> None:
    believed = {choice.quality: choice for choice in believed_curve(10, KNOWN, same, (0, 51), 0.2).choices}
    for step, measured in KNOWN.items():
        assert believed[step][1:] == measured
    assert [choice.quality for choice in measured_curve(10, KNOWN, same).choices] == [20, 26, 32]


def test_between_and_beyond_bits_and_scores_fall_with_the_step() -> None:
    choices = sorted(believed_curve(10, KNOWN, same, (15, 36)).choices, key=lambda choice: choice.quality)
    assert [choice.quality for choice in choices] == list(range(15, 37))
    for better, worse in itertools.pairwise(choices):
        assert better.bits > worse.bits
        assert better.score > worse.score
    # Halving every six steps, as measured.
    assert choices[23 - 15].bits == pytest.approx(8e5 / 2**0.5, rel=0.01)


def test_hope_is_for_what_lies_between() -> None:
    plain, hoped = (
        {c.quality: c.score for c in believed_curve(10, KNOWN, same, (0, 51), hope).choices}
        for hope in (0.0, 0.2)
    )
    assert hoped[29] == pytest.approx(plain[29] + 0.2 * 9)
    assert all(hoped[step] == plain[step] for step in (14, 20, 26, 32, 40))


def test_one_point_is_enough_to_begin() -> None:
    believed = {c.quality: c for c in believed_curve(10, {30: Measured(1e5, 90.0)}, same, (0, 51)).choices}
    assert believed[36].bits == pytest.approx(5e4)
    assert set(believed) == set(range(22, 39))
