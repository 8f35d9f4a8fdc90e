"""Motion: libvmaf's figures in single precision, and late figures as frames come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import float_figures
from acuity.errors import FeatureError
from acuity.features.extractor import Geometry
from acuity.features.motion import FloatMotion, Motion
from acuity.features.options import OptionValue
from drawn_pictures import made_pairs
from float_figures import close, run

FIGURES, OPTIONS = float_figures.FIGURES["float_motion"].values()  # motion of four frames; every figure


@pytest.mark.parametrize(("case", "motion"), FIGURES, ids=str)
def test_figures_are_libvmafs(
    case: tuple[str, int, int, int, str], motion: list[float], instruction_set: str
) -> None:
    pairs = made_pairs(*case, 4)
    found = run("float_motion", pairs, instruction_set)
    assert list(found) == ["motion2", "motion", "motion3"]
    close(found["motion"], motion)
    close(found["motion2"], [0.0, *map(min, motion[1:], motion[2:]), motion[-1]])
    close(found["motion3"], [motion[1], *found["motion2"][1:]])


@pytest.mark.parametrize("options", OPTIONS)
def test_options_do_what_libvmafs_do(options: str) -> None:
    found = run(f"float_motion={options}", made_pairs("detail", frames=4))
    assert list(found) == list(OPTIONS[options])
    for key, figures in OPTIONS[options].items():
        close(found[key], figures)


@pytest.mark.parametrize("threads", [1, 3])
def test_chroma_and_half_the_size_of_odd_pictures(threads: int, instruction_set: str) -> None:
    """4:4:4 only: libvmaf takes rows of smaller chroma planes for closer than they are, and reads between."""
    both = run(
        "float_motion=motion_add_uv=true:motion_add_scale1=true",
        made_pairs("detail", 61, 47, 10, "444", 3),
        instruction_set,
        threads,
    )
    close(both["motion_mdc_mau"], (0.0, 21.59152079, 21.31929827))
    half = run(
        "float_motion=motion_add_scale1=true",
        made_pairs("noise", 61, 47, 12, "444", 3),
        instruction_set,
        threads,
    )
    close(half["motion_mdc"], (0.0, 46.64958191, 48.46739197))


def test_zeros_come_at_once_and_in_libvmafs_order() -> None:
    found = run("float_motion=motion_force_zero=true", made_pairs("noise"))
    assert list(found) == ["motion2_force_0", "motion3_force_0", "motion_force_0"]
    assert all(figure == 0.0 for column in found.values() for figure in column)
    assert FloatMotion({"motion_force_zero": True}).lookback == 0


def test_motion_itself_can_be_left_out() -> None:
    assert list(run("float_motion=debug=false", made_pairs("noise"))) == ["motion2", "motion3"]
    merged = FloatMotion({"debug": False}).merge(FloatMotion())
    assert merged.flag("debug")


def test_motion2_stands_among_the_frames_own_figures() -> None:
    """libvmaf knows it of the first frame at once, but motion3 only later."""
    found = run(["float_motion", "float_vif"], made_pairs("detail"))
    assert list(found) == ["motion2", "motion", *(f"vif_scale{scale}" for scale in range(4)), "motion3"]


def test_settings_share_a_pass() -> None:
    options: list[dict[str, Any]] = [{}, {"motion_fps_weight": 2.0}, {"motion_max_val": 3.0}]
    assert len({FloatMotion(given).sharing for given in options}) == 1
    # Sizes that libvmaf has no blur of its own for are the default one.
    assert FloatMotion({"motion_filter_size": 7}).sharing == FloatMotion().sharing
    apart = [{"motion_filter_size": 3}, {"motion_add_uv": True}, {"motion_add_scale1": True}]
    assert all(FloatMotion(given).sharing != FloatMotion().sharing for given in apart)


def test_frames_that_subsampling_leaves_out_count() -> None:
    pairs = made_pairs("detail", frames=4)
    every, second = run("float_motion", pairs), run("float_motion", pairs, subsample=2)
    assert {key: column[::2] for key, column in every.items()} == second


def test_chroma_is_wanted_only_where_it_counts() -> None:
    luma = Geometry(64, 48, 8)
    FloatMotion().check_size(luma)
    assert not FloatMotion().uses_chroma
    colour = FloatMotion({"motion_add_uv": True})
    assert colour.uses_chroma
    with pytest.raises(FeatureError, match=r"motion_add_uv needs chroma, and these pictures are luma alone"):
        colour.check_size(luma)
    with pytest.raises(FeatureError, match=r"chroma planes of at least 3x3 samples, because .* are 2x2"):
        colour.check_size(Geometry(4, 4, 8, (2, 2)))


Figures = dict[str, dict[int, float]]


def streamed(changes: list[float], options: dict[str, OptionValue], start: int = 0) -> Figures:
    derivation = Motion(options).derivation(start)
    found: Figures = {"integer_motion2": {}, "integer_motion3": {}}
    known = [f for change in changes[start:] for f in derivation.push(change)] + derivation.finish()
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
    for name, figures in streamed(changes, options, start).items():
        assert all(whole[name][index] == value for index, value in figures.items())
        assert not [index for index in figures if index < start]
        assert set(figures) >= set(range(extractor.settled(start), len(changes)))
