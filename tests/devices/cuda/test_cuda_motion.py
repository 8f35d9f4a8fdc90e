"""Motion on an emulated card beside the CPU's."""

from __future__ import annotations

import pytest

from acuity.devices.cuda.twins.motion import MotionTwin
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, random_frames


@needs_compiler
@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("size", [(16, 16), (67, 35), (130, 19), (3, 3)])
def test_the_same_digits(size: tuple[int, int], depth: int, extreme: bool) -> None:
    frames = random_frames(5, *size, depth, extreme=extreme)
    for settings in ({}, {"motion_five_frame_window": True}, {"motion_force_zero": True}):
        members = extractors("motion", {**settings, "debug": True})
        assert on_card(MotionTwin, members, frames) == on_cpu(members, frames)


@needs_compiler
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("depth", [8, 10])
def test_wide_strips_and_planes_that_are_aligned_to_nothing(depth: int, packed: bool) -> None:
    frames = random_frames(2, 381, 141, depth)
    members = extractors("motion")
    assert on_card(MotionTwin, members, frames, packed=packed) == on_cpu(members, frames)
