"""When the compared frames are shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from acuity.video.pairs.clock import PairTimes
from video_clips import encode, paired


def test_an_even_rate_needs_no_times() -> None:
    timeline = PairTimes(Fraction(25), Fraction(2), variable=False)
    timeline.note(99.0)
    assert (timeline.at(0), timeline.at(50)) == (2.0, 4.0)
    assert PairTimes(None, None, variable=False).at(3) is None


def test_uneven_times_count_from_the_first() -> None:
    timeline = PairTimes(Fraction(25), None, variable=True)
    for time in (10.0, 10.5, None, 12.0):
        timeline.note(time)
    assert [timeline.at(pair) for pair in range(5)] == [0.0, 0.5, None, 2.0, 2.0]


def test_the_times_of_a_pair(tmp_path: Path) -> None:
    slow, fast = encode(tmp_path / "slow.mkv", frames=10), encode(tmp_path / "fast.mkv", frames=20, rate=50)
    assert paired(slow, slow, skip_ref=5, skip_dis=5).timeline.at(1) == pytest.approx(6 / 25)
    assert paired(fast, slow, rate="match").timeline.at(2) == pytest.approx(2 / 25)
    ticks = [0, 1, 2, 5, 6, 9, 10, 14, 15, 20]
    uneven = encode(tmp_path / "uneven.mkv", frames=10, ticks=ticks)
    timeline = paired(uneven, uneven).timeline
    assert [timeline.at(n) for n in range(10)] == pytest.approx([tick / 25 for tick in ticks], abs=0.002)
