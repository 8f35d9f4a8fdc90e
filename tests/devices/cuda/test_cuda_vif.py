"""VIF on an emulated card beside the CPU's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.twins.vif import VifTwin
from acuity.features.extractor import Frame
from emulated_card import needs_compiler
from twin_bench import extractors, on_card, on_cpu, picture, random_frames

pytestmark = needs_compiler

SETTINGS: list[list[dict[str, Any]]] = [
    [{"debug": True}],
    [{"debug": True, "vif_skip_scale0": True}],
    [{"vif_enhn_gain_limit": 1.0, "debug": True}],
    [{}, {"vif_enhn_gain_limit": 1.0, "debug": True}],
    [{"vif_enhn_gain_limit": 1.0, "debug": True}, {"vif_enhn_gain_limit": 1.3}],
    [{"vif_enhn_gain_limit": 1.0}, {"vif_enhn_gain_limit": 1.3}, {"debug": True}],
    [{"vif_enhn_gain_limit": limit, "debug": True} for limit in (1.0, 1.05, 2.0, 100.0, 1.5)],
]


def compare(size: tuple[int, int], depth: int, *settings: dict[str, Any], **how: bool) -> None:
    frames = random_frames(2, *size, depth, extreme=how.pop("extreme", False))
    members = extractors("vif", *settings)
    assert on_card(VifTwin, members, frames, **how) == on_cpu(members, frames)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("depth", [8, 9, 10, 12, 16])
@pytest.mark.parametrize("size", [(16, 16), (67, 35)])
def test_the_same_digits(size: tuple[int, int], depth: int, extreme: bool) -> None:
    compare(size, depth, {"debug": True}, {"debug": True, "vif_enhn_gain_limit": 1.0}, extreme=extreme)


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("size", [(503, 17), (113, 49), (1025, 16)])
def test_several_steps_and_blocks(size: tuple[int, int], depth: int) -> None:
    compare(size, depth, {"debug": True})


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("size", [(61, 51), (64, 48)])
def test_planes_that_are_aligned_to_nothing(size: tuple[int, int], depth: int) -> None:
    compare(size, depth, {"debug": True}, packed=True)


@pytest.mark.parametrize("settings", SETTINGS)
def test_options_and_gain_limits(settings: list[dict[str, Any]]) -> None:
    compare((49, 26), 8, *settings)


STEEP: list[list[float]] = [[100.0], [1.0], [100.0, 1.0], [100.0, 1.2], [1.0, 3.0, 60.0]]


@pytest.mark.parametrize("limits", STEEP)
@pytest.mark.parametrize(("low", "step", "contrast"), [(100, 8, 30), (252, 4, 85)])
def test_flat_pictures_and_steep_gains(low: int, step: int, contrast: int, limits: list[float]) -> None:
    """Places without variance, and distorted pictures with far more contrast than their references."""
    random = np.random.default_rng(1)
    ref = np.full((40, 60), low, np.uint8)
    ref[:, 24:] += random.integers(0, step, (40, 36), dtype=np.uint8)
    dis = np.clip((ref.astype(int) - low) * contrast, 0, 255).astype(np.uint8)
    frames = [Frame(0, picture([ref], "400", 8), picture([dis], "400", 8), ())]
    members = extractors("vif", *({"debug": True, "vif_enhn_gain_limit": limit} for limit in limits))
    assert on_card(VifTwin, members, frames) == on_cpu(members, frames)
