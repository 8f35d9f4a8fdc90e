"""Track: its figures by the formula in numpy, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity import _native
from effort import examples

KEPT, REACH = 12, 3
LIMITS = {"floor": 0.05, "alike": 40.0, "most": 20.0, "jump": 8.0}
RULES: dict[str, Any] = {"kept": KEPT, "reach": REACH, "traced": 10, **LIMITS}


def signatures(count: int, cells: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, 20, cells).astype(np.float32) for _ in range(count)]


@settings(max_examples=examples(30), deadline=None)
@given(cells=st.integers(1, 70), parts=st.lists(st.integers(0, KEPT), max_size=9), seed=st.integers(0, 99))
def test_the_last_pairs_and_their_figures(cells: int, parts: list[int], seed: int) -> None:
    track = _native.Track(**RULES)
    ref, dis = signatures(sum(parts), cells, seed), signatures(sum(parts), cells, seed + 100)
    done = 0
    for count in parts:
        track.extend(ref[done : done + count], dis[done : done + count])
        done += count
        assert track.end == track.end_ref == track.end_dis == done
        assert min(KEPT, done) <= done - track.first <= 2 * KEPT
    if not done:
        assert (track.cells, track.ref.size) == (0, 0)
        return
    first, rows = track.first, done - track.first
    kept_ref, kept_dis = np.array(ref[first:], np.float64), np.array(dis[first:], np.float64)
    assert np.array_equal(track.ref[:rows], kept_ref.astype(np.float32))
    assert np.array_equal(track.dis[:rows], kept_dis.astype(np.float32))
    change, other = np.diff(kept_ref, axis=0), np.diff(kept_dis, axis=0)
    moved = (change**2).sum(axis=1), (other**2).sum(axis=1)
    tracking = (change * other).sum(axis=1) / np.sqrt(moved[0] * moved[1] + 1e-9)
    np.testing.assert_allclose(track.error, ((kept_dis - kept_ref) ** 2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(track.moved_ref[1:], moved[0], rtol=1e-5)
    np.testing.assert_allclose(track.moved_dis[1:], moved[1], rtol=1e-5)
    np.testing.assert_allclose(track.tracking[1:], tracking, atol=1e-5)
    if first == 0:
        assert (track.moved_ref[0], track.moved_dis[0], track.tracking[0]) == (0, 0, 1)


def test_frames_after_the_last_pair() -> None:
    track = _native.Track(**RULES)
    rest = signatures(5, 4, 2)
    track.extend(signatures(KEPT, 4, 1), signatures(KEPT, 4, 1))
    track.add_rest(rest, [])
    assert (track.end, track.end_ref, track.end_dis) == (KEPT, KEPT + 5, KEPT)
    assert np.array_equal(track.ref[KEPT : KEPT + 5], rest)


def test_a_lag_is_followed() -> None:
    """Frames that show those two frames on: the path goes there, and says so."""
    track = _native.Track(**RULES)
    source = signatures(11, 40, 3)
    track.extend(source[:10], source[:3] + source[5:11] + source[10:])
    assert track.advance(0, 7, False) == 3
    assert not track.settled
    assert track.advance(4, 7, True) == 4
    assert [track.advance(frame, 7, False) for frame in (5, 6)] == [5, 6]
    assert track.path(6)[-4:] == [(3, 5), (4, 6), (5, 7), (6, 8)]
    assert track.least_cost < -60
