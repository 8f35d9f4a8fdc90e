"""By how much the score may be wrong where the place of a fault can't be told, and what is said of that."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.errors import PairingError
from acuity.video.alignment.doubts import Doubts, points_apart
from acuity.video.alignment.path import Solver
from acuity.video.picture import Signature
from misaligned_clips import pan

CELLS = (12, 20)
LOST = 50


def slow_between(first: int, last: int, step: float) -> list[Signature]:
    """100 pictures of a pan, which goes on by `step` of a frame's motion from `first` to `last`."""
    return pan(np.cumsum([step if first <= n <= last else 1.0 for n in range(100)]))


def doubt_by_frame(ref: list[Signature]) -> np.ndarray:
    """Of a copy with noise that lost a frame."""
    rng = np.random.default_rng(1)
    solver = Solver(timed=False)
    solver.ref.signatures, solver.ref.times = list(ref), [None] * 100
    shown = [n for n in range(100) if n != LOST]
    solver.dis.signatures = [(ref[n] + rng.normal(0, 0.5, CELLS)).astype(np.float32) for n in shown]
    solver.dis.times = [None] * 99
    solver.begin((0,), 100, 99)
    return np.array([doubt for _, _, doubt in solver.solve(over=True, ends=True)])


def test_doubt_lies_where_the_fault_may_be() -> None:
    doubt = doubt_by_frame(slow_between(40, 60, 0.1))
    assert doubt[38:61].sum() > 1
    assert max(doubt[:36].max(), doubt[61:].max()) < 0.02


def test_no_doubt_where_every_frame_is_told_from_the_next() -> None:
    assert doubt_by_frame(slow_between(0, 0, 1.0)).max() < 0.01


def test_no_doubt_where_all_frames_are_the_same() -> None:
    """Whichever is left out, the score is that."""
    assert doubt_by_frame(slow_between(44, 57, 0.0)).max() < 0.1


def test_points_grow_with_the_error_that_can_be_seen() -> None:
    one, other = np.array([8.0, 0.1, 8.0, 1e6]), np.array([16.0, 0.2, 8.0, 8.0])
    points = points_apart(one, other)
    assert points[0] > 5
    assert points[1] < 1
    assert points[2] == 0
    assert points[3] == points_apart(one[::-1], other[::-1])[0] <= 20


@pytest.mark.parametrize(
    ("points", "said"), [(0.05, ""), (3.0, "off by up to 0.2"), (14.0, "off by up to 0.8"), (20.0, None)]
)
def test_little_doubt_is_a_warning_and_much_is_refused(points: float, said: str | None) -> None:
    doubts = Doubts("'x.mp4'", "'src.mkv'")
    doubts.add(3, points / 10)
    for frame in range(20, 29):
        doubts.add(frame, points / 10)
    if said is None:
        with pytest.raises(PairingError, match=r"frames 20 to 28 of 'x.mp4' match several"):
            doubts.refuse_doubtful(100)
        return
    doubts.refuse_doubtful(100)
    assert bool(said) == bool(doubts.warning(100))
    assert said in doubts.warning(100)
