"""The chart of scores over time."""

from __future__ import annotations

import numpy as np

from acuity.cli.plot import plot, stretches
from acuity.cli.style import clock, count


def test_a_stretch_shows_its_lowest_frame() -> None:
    scores = np.full(1000, 90.0)
    scores[503] = 20.0
    assert stretches(scores, 10).tolist() == [90.0] * 5 + [20.0] + [90.0] * 4


def test_stretches_are_even_in_time() -> None:
    begins = stretches(np.arange(60.0), 38)  # of rising scores the lowest is the first of its stretch
    assert np.abs(begins - np.arange(38) * 60 / 38).max() < 1


def test_bars_follow_the_scores() -> None:
    lines = plot(np.array([20.0, 60.0, 100.0]), rows=2, seconds=75.0)
    assert lines == ["100 │ ▁█", " 20 │▁██", "     0:00 1:15"]


def test_flat_empty_and_unknown_scores_are_fine() -> None:
    assert plot(np.array([])) == []
    assert plot(np.array([np.nan])) == []
    assert len(plot(np.full(500, 100.0), width=40)) == 5


def test_every_line_fits_the_width() -> None:
    lines = plot(np.random.default_rng(1).uniform(0, 100, 5000), width=50)
    assert all(len(line) <= 50 + 5 for line in lines)


def test_ascii_terminals_get_ascii() -> None:
    assert all(line.isascii() for line in plot(np.linspace(0, 100, 30), unicode=False))


def test_clock() -> None:
    assert [clock(0), clock(59.6), clock(3661), clock(1.25, 3)] == ["0:00", "1:00", "1:01:01", "0:01.250"]
    assert [count(1, "frame"), count(2, "frame")] == ["1 frame", "2 frames"]
