"""The path through frames that match, solved over the whole clip: several faults, long clips, times."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import misaligned_clips
from acuity.video.alignment.path import BLOCK, Costs, Solver, best_path
from acuity.video.alignment.rules import timed_path
from acuity.video.picture import Signature
from effort import examples

CELLS = (12, 20)
pan = functools.lru_cache(misaligned_clips.pan)  # nobody changes them


def coded(signatures: Sequence[Signature], shown: Sequence[int], noise: float = 0.5) -> list[Signature]:
    rng = np.random.default_rng(len(shown))
    return [(signatures[n] + rng.normal(0, noise, CELLS)).astype(np.float32) for n in shown]


def solved(
    ref: Sequence[Signature],
    dis: Sequence[Signature],
    times: tuple[Sequence[float], Sequence[float]] | None = None,
) -> list[int]:
    """The frame of the reference that each frame shows, fed as a survey does."""
    solver = Solver(timed=times is not None)
    solver.begin((0,), len(ref), len(dis))
    sides, all_frames, answer = (solver.ref, solver.dis), (ref, dis), []
    at = [0, 0]
    while len(answer) < len(dis):
        for side, wanted in enumerate(solver.wants):
            more = min(wanted - len(sides[side]), len(all_frames[side]) - at[side])
            sides[side].signatures += all_frames[side][at[side] : at[side] + more]
            sides[side].times += times[side][at[side] : at[side] + more] if times else [None] * more
            at[side] += more
        over = [at[side] == len(all_frames[side]) for side in (0, 1)]
        for frame, match, _ in solver.solve(over=over[1], ends=all(over)):
            assert frame == len(answer)
            answer.append(match)
    return answer


def pairs(answer: Sequence[int]) -> list[int]:
    return [match for match in answer if match >= 0]


@settings(max_examples=examples(25), deadline=None)
@given(
    lost=st.sets(st.integers(0, 99), max_size=12),
    seed=st.integers(0, 4),
    tail=st.booleans(),
    head=st.booleans(),
)
def test_any_frames_may_be_lost(lost: set[int], seed: int, tail: bool, head: bool) -> None:
    """One by one, in bursts, the first and the last: no pair is ever wrong, and none is missing."""
    lost = (lost | ({97} if tail else set())) - (set() if head else {0, 1, 2})
    shown = [n for n in range(100) if n not in lost]
    ref = pan(range(100), seed)
    assert solved(ref, coded(ref, shown)) == shown


@settings(max_examples=examples(15), deadline=None)
@given(
    faults=st.lists(
        st.tuples(st.integers(5, 90), st.integers(-4, 6).filter(bool)),
        max_size=4,
        unique_by=lambda f: f[0] // 12,
    ),
    seed=st.integers(0, 4),
)
def test_lost_and_doubled_frames_in_any_order(faults: list[tuple[int, int]], seed: int) -> None:
    shown = [*range(100)]
    for place, count in sorted(faults, reverse=True):
        shown[place : place + max(count, 0)] = [shown[place]] * -count if count < 0 else []
    ref = pan(range(100), seed)
    answer = solved(ref, coded(ref, shown))
    assert all(match == true for match, true in zip(answer, shown, strict=True) if match >= 0)
    assert pairs(answer) == sorted(set(shown))  # one of each, and none twice


@pytest.mark.parametrize("count", [96, 3 * BLOCK])
@pytest.mark.parametrize("noise", [0.5, 4.0])
@pytest.mark.parametrize(("every", "phase"), [(2, 1), (4, 0), (5, 4), (5, 2), (10, 7)])
def test_periodic_losses(every: int, phase: int, noise: float, count: int) -> None:
    """The rule that the lengths suggest is found where no place could be told, over many blocks too."""
    shown = [n for n in range(count) if n % every != phase]
    ref = pan(range(count))
    assert solved(ref, coded(ref, shown, noise)) == shown


@pytest.mark.parametrize("every", [4, 5])
def test_periodic_doubles(every: int) -> None:
    shown = [n for n in range(3 * BLOCK) for _ in range(1 + (n % every == 1))]
    ref = pan(range(3 * BLOCK))
    answer = solved(ref, coded(ref, shown, 4.0))
    assert all(match == true for match, true in zip(answer, shown, strict=True) if match >= 0)
    assert pairs(answer) == [*range(3 * BLOCK)]


def test_losses_that_have_a_regular_number_are_not_taken_for_regular_ones() -> None:
    shown = [n for n in range(100) if not 40 <= n < 50]
    ref = pan(range(100))
    assert solved(ref, coded(ref, shown, 3.0)) == shown


def test_a_long_clip_is_solved_block_by_block() -> None:
    """Faults wherever blocks meet, in memory that does not grow with the clip."""
    count = 3 * BLOCK
    lost = {7, 8, BLOCK - 151, BLOCK - 150, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 300, *range(900, 960)}
    shown = [n for n in range(count) if n not in lost]
    ref = pan(range(count))
    assert solved(ref, coded(ref, shown)) == shown


def test_times_tell_which_frames_are_missing() -> None:
    """Of pictures that hardly differ, presentation times of a variable rate are the only evidence."""
    rng = np.random.default_rng(2)
    still = rng.normal(0, 20, CELLS).astype(np.float32)
    ref = [(still + rng.normal(0, 0.1, CELLS)).astype(np.float32) for _ in range(60)]
    shown = [n for n in range(60) if n not in (7, 22, 23, 24, 51)]
    times = [n / 30 for n in range(60)], [round(n / 30, 3) for n in shown]
    assert solved(ref, coded(ref, shown, 4.0), times) == shown
    assert solved(ref, coded(ref, shown, 4.0)) != shown


def test_times_that_come_twice_as_often_leave_every_second_frame_out() -> None:
    ref = pan(range(40))
    shown = sorted([*range(40), *range(10, 20)])
    times = [n / 30 for n in range(40)], [n / 30 + 0.016 * (shown[:i].count(n)) for i, n in enumerate(shown)]
    answer = solved(ref, coded(ref, shown), times)
    assert pairs(answer) == [*range(40)]


def test_costs_follow_the_number_of_frames_that_are_missing() -> None:
    assert Costs.expecting(0, 100, timed=False).lost == Costs.expecting(0, 100, timed=False).extra
    few, many = (Costs.expecting(more, 100, timed=False) for more in (1, 25))
    assert many.lost < few.lost < few.extra


def test_a_path_never_goes_back() -> None:
    rng = np.random.default_rng(3)
    path, _ = best_path(rng.uniform(0, 20, (40, 50)), Costs.expecting(0, 40, timed=False), ends=True)
    known = pairs(path.tolist())
    assert known == sorted(set(known))


def test_frames_of_a_constant_rate_are_found_in_a_reference_that_shows_one_longer() -> None:
    steady, varying = [0.0, 0.04, 0.08, 0.12, 0.16, 0.2], [0.0, 0.04, 0.16, 0.2]
    assert timed_path(steady, varying, 0.0).tolist() == [0, 1, -1, -1, 2, 3]
    assert timed_path(varying, steady, 0.0).tolist() == [0, 1, 4, 5]
