"""SpEED on an emulated card beside the CPU's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.twins.speed import SpeedTemporalTwin
from acuity.errors import UnfitPictureError
from acuity.video.picture import Picture
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, random_frames, same

NAMES = "speed_chroma", "speed_temporal"
pytestmark = needs_compiler


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_digits(name: str, depth: int, extreme: bool) -> None:
    layout = "444" if name == "speed_chroma" else "400"
    frames = random_frames(2, 251, 209, depth, layout=layout, extreme=extreme)
    found = same(name, frames)
    assert all(value > 0 for value in found[-1].values())


@pytest.mark.parametrize(
    ("width", "height", "layout"),
    [(80, 80, "444"), (167, 161, "420"), (95, 600, "444"), (700, 81, "444"), (560, 170, "422")],
)
def test_sizes(width: int, height: int, layout: str) -> None:
    frames = random_frames(2, width, height, 8, layout=layout)
    for name in NAMES:
        same(name, frames)


@pytest.mark.parametrize("size", [(1040, 2300), (16560, 83)], ids=["high", "wide"])
def test_planes_larger_than_a_tile(size: tuple[int, int]) -> None:
    found = same("speed_temporal", random_frames(2, *size, 8))
    assert found[-1]["speed_temporal"] > 0


def test_batches_that_are_not_full() -> None:
    frames = random_frames(4, 230, 210, 8, layout="444")
    for name in NAMES:
        same(name, frames, most=3)


@pytest.mark.parametrize(
    "settings",
    [
        {"speed_kernelscale": 0.5},
        {"speed_kernelscale": 360 / 97},
        {"speed_prescale": 0.9995},
        {"speed_prescale": 0.6, "speed_prescale_method": "bilinear"},
        {"speed_prescale": 0.7, "speed_prescale_method": "nearest", "speed_kernelscale": 1.5},
        {"speed_prescale": 1.3, "speed_prescale_method": "bicubic"},
        {"speed_prescale": 0.6, "speed_prescale_method": "lanczos4"},
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_reductions(name: str, settings: Mapping[str, Any]) -> None:
    same(name, random_frames(2, 330, 301, 8, layout="444"), settings)


@pytest.mark.parametrize("depth", [8, 10])
def test_weighings_side_by_side(depth: int) -> None:
    frames = random_frames(2, 240, 225, depth, layout="444")
    modes = [{"speed_weight_var_mode": mode, "speed_sigma_nn": 0.19} for mode in range(7)]
    others = [{"speed_nn_floor": 0.3}, {"speed_nn_floor": 1.0, "speed_sigma_nn": 2.0}, {"speed_max_val": 2.0}]
    same("speed_chroma", frames, *modes, *others)
    same("speed_temporal", frames, *others)
    same("speed_temporal", frames, {"speed_use_ref_diff": True}, {"speed_use_ref_diff": True, **others[0]})


def flat(picture: Picture, number: int) -> Picture:
    planes = list(picture.planes)
    planes[number] = np.full_like(planes[number], 77)
    return Picture(tuple(planes), picture.format)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("number", [1, 2])
def test_planes_that_cannot_be_described(number: int, both: bool) -> None:
    """A flat plane counts for nothing, and a pair of which one is flat scores 0."""
    frames = [
        replace(f, ref=flat(f.ref, number), dis=flat(f.dis, number) if both else f.dis)
        for f in random_frames(2, 230, 210, 8, layout="444")
    ]
    same("speed_chroma", frames)


@pytest.mark.parametrize("flattened", [("ref",), ("ref", "dis")])
def test_changes_that_cannot_be_described(flattened: Sequence[str]) -> None:
    first, second = random_frames(2, 230, 210, 8)
    still = {side: getattr(first, side) for side in flattened}  # nothing changes
    frames = [first, replace(second, **still)]
    same("speed_temporal", frames, {"speed_max_val": 7.0})


def test_pictures_too_small_for_a_change() -> None:
    frames = random_frames(2, 60, 60, 8)
    same("speed_temporal", frames[:1])
    with pytest.raises(UnfitPictureError):
        on_card(SpeedTemporalTwin, extractors("speed_temporal"), frames)
