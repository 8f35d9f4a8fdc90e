"""Late motion figures: derived in order as frames come, equal to a look at the whole clip at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.features.motion import Motion
from acuity.features.options import OptionValue

Figures = dict[str, dict[int, float]]


def streamed(changes: list[float], options: dict[str, OptionValue]) -> Figures:
    derivation = Motion(options).derivation()
    found: Figures = {"integer_motion2": {}, "integer_motion3": {}}
    known = [f for change in changes for f in derivation.push(change)] + derivation.finish()
    for key, index, value in known:
        name = key[:15]
        assert index not in found[name], "a figure came twice"
        found[name][index] = value
    return found


def at_once(changes: list[float], extractor: Motion) -> Figures:
    """The definition, with all frames in view."""
    wide = extractor.flag("motion_five_frame_window")
    first = 2 if wide else 1
    motion2: dict[int, float] = {}
    motion3: dict[int, float] = {}
    stamp = extractor.blended(changes[first]) if len(changes) > first else 0.0
    before = stamp
    for i, change in enumerate(changes):
        if i < first:
            motion2[i], motion3[i] = 0.0, stamp
            continue
        after = changes[i + 1] if i + 1 < len(changes) else None
        low = i - 1 if wide else i
        if after is None:
            motion2[i] = change
        else:
            motion2[i] = min(changes[low], after) if low >= first else after
        blended = extractor.blended(motion2[i])
        motion3[i] = (blended + before) / 2 if extractor.flag("motion_moving_average") else blended
        before = blended
    return {"integer_motion2": motion2, "integer_motion3": motion3}


@given(
    st.lists(st.floats(0, 100), max_size=12),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1.0, 0.3, 0.0]),
    st.sampled_from([10000.0, 20.0]),
)
def test_streaming_equals_the_definition(
    changes: list[float], wide: bool, average: bool, factor: float, most: float
) -> None:
    options: dict[str, OptionValue] = {
        "motion_five_frame_window": wide,
        "motion_moving_average": average,
        "motion_blend_factor": factor,
        "motion_blend_offset": 5.0,
        "motion_max_val": most,
    }
    assert streamed(changes, options) == at_once(changes, Motion(options))


def test_figures_come_as_soon_as_they_can() -> None:
    derivation = Motion().derivation()
    assert derivation.push(0.0) == [("integer_motion2", 0, 0.0)]
    assert derivation.push(4.0) == [("integer_motion3", 0, 4.0)]
    assert derivation.push(3.0) == [("integer_motion2", 1, 3.0), ("integer_motion3", 1, 3.0)]
    assert derivation.finish() == [("integer_motion2", 2, 3.0), ("integer_motion3", 2, 3.0)]


@pytest.mark.parametrize(("options", "lookback"), [({}, 1), ({"motion_five_frame_window": True}, 2)])
def test_lookback(options: dict[str, OptionValue], lookback: int) -> None:
    assert Motion(options).lookback == lookback
    assert Motion({**options, "motion_force_zero": True}).lookback == 0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=14), st.integers(0, 14), st.booleans(), st.booleans())
def test_a_late_start_gives_nothing_else(changes: list[float], start: int, wide: bool, average: bool) -> None:
    options: dict[str, OptionValue] = {
        "motion_five_frame_window": wide,
        "motion_moving_average": average,
        "motion_blend_factor": 0.3,
        "motion_blend_offset": 10.0,
    }
    extractor = Motion(options)
    whole = at_once(changes, extractor)
    start = min(start, len(changes))
    derivation = extractor.derivation(start)
    known = [f for change in changes[start:] for f in derivation.push(change)] + derivation.finish()
    found: Figures = {"integer_motion2": {}, "integer_motion3": {}}
    for key, index, value in known:
        found[key[:15]][index] = value
    for name, figures in found.items():
        assert all(whole[name][index] == value for index, value in figures.items())
        assert not [index for index in figures if index < start]
        assert set(figures) >= set(range(extractor.settled(start), len(changes)))


@given(st.integers(3, 20), st.booleans(), st.booleans())
def test_no_frame_before_the_settled_one_is_known(start: int, wide: bool, average: bool) -> None:
    """Waiting longer than necessary would be safe too; this holds settled() to the first that can be."""
    extractor = Motion({"motion_five_frame_window": wide, "motion_moving_average": average})
    derivation = extractor.derivation(start)
    known = [f for change in range(8) for f in derivation.push(float(change))]
    settled = {min(index for key, index, _ in known if key == name) for name in extractor.keys(late=True)}
    assert max(settled) == extractor.settled(start)


@pytest.mark.parametrize("wide", [True, False])
def test_a_frame_waits_for_as_many_as_it_looks_ahead(wide: bool) -> None:
    extractor = Motion({"motion_five_frame_window": wide, "motion_moving_average": True})
    for frame in range(6):
        derivation = extractor.derivation()
        known = [f for change in range(frame + extractor.lookahead + 1) for f in derivation.push(change)]
        assert {key for key, index, _ in known if index == frame} == set(extractor.keys(late=True))
