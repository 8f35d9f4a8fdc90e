"""Bits go to the shots where they raise the mean score most, by what was measured and what is believed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import TuneError
from acuity.tune.shots.allocation import Curve, ShotChoice, best_score, least_bits
from acuity.tune.shots.per_shot import MeasuredShot, believed_curve, measured_curve

# Two shots of equal length: one is nearly perfect with few bits, the other needs many.
EASY = Curve(
    10, (ShotChoice(20, 400, 99), ShotChoice(25, 200, 98), ShotChoice(30, 100, 96), ShotChoice(35, 50, 90))
)
HARD = Curve(
    10,
    (ShotChoice(20, 4000, 98), ShotChoice(25, 2000, 92), ShotChoice(30, 1000, 80), ShotChoice(35, 500, 60)),
)

scores = st.floats(0, 100, allow_nan=False)
choices = st.builds(ShotChoice, st.integers(0, 51), st.floats(1, 1e4), scores)
curves = st.lists(
    st.builds(Curve, st.integers(1, 50), st.lists(choices, min_size=1, max_size=4).map(tuple)),
    min_size=1,
    max_size=4,
)


def test_a_mean_target_takes_bits_from_where_they_give_little() -> None:
    found = least_bits([EASY, HARD], 95)
    assert [choice.quality for choice in found.choices] == [25, 25]
    assert found.score == pytest.approx(95)


def test_a_budget_is_kept() -> None:
    found = best_score([EASY, HARD], 2300)
    assert found.bits <= 2300
    assert [choice.quality for choice in found.choices] == [25, 25]
    assert not best_score([EASY, HARD], 100).met


@given(curves, scores)
def test_a_mean_target_costs_little_more_than_the_best_division(shots: list[Curve], target: float) -> None:
    found = least_bits(shots, target)
    frames = sum(shot.frames for shot in shots)

    def mean(chosen: tuple[ShotChoice, ...]) -> float:
        return sum(one.score * shot.frames for one, shot in zip(chosen, shots, strict=True)) / frames

    every = list(itertools.product(*(shot.choices for shot in shots)))
    able = [sum(one.bits for one in chosen) for chosen in every if mean(chosen) >= target]
    if found.met:
        assert found.score >= target - 1e-6
        # The relaxed problem's gap is at most one step of one shot.
        step = max(max(c.bits for c in shot.choices) - min(c.bits for c in shot.choices) for shot in shots)
        assert found.bits <= min(able, default=found.bits) + step + 1e-6
    else:
        assert found.score == pytest.approx(max(mean(chosen) for chosen in every))


@given(curves, st.floats(1, 4e4))
def test_a_budget_is_never_exceeded(shots: list[Curve], budget: float) -> None:
    found = best_score(shots, budget)
    least = sum(min(choice.bits for choice in shot.choices) for shot in shots)
    assert found.met == (found.bits <= budget + 1e-6)
    assert found.met or least > budget - 1e-6


def test_a_curve_without_figures_is_refused() -> None:
    with pytest.raises(TuneError):
        Curve(10, (ShotChoice(20, float("nan"), 90),))


KNOWN = {20: MeasuredShot(8e5, 98.0), 26: MeasuredShot(4e5, 95.0), 32: MeasuredShot(2e5, 86.0)}


def same(step: int) -> int:
    return step


def test_what_was_measured_stays_as_it_is() -> None:
    believed = {choice.quality: choice for choice in believed_curve(10, KNOWN, same, (0, 51)).choices}
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


def test_one_point_is_enough_to_begin() -> None:
    believed = {
        c.quality: c for c in believed_curve(10, {30: MeasuredShot(1e5, 90.0)}, same, (0, 51)).choices
    }
    assert believed[36].bits == pytest.approx(5e4)
    assert set(believed) == set(range(22, 39))
